import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMetrics, type Metrics } from './metrics.ts'

let metrics: Metrics
let port: number
let observed = 0
/** The gauge waits for this. */
let released = Promise.resolve()

beforeAll(async () => {
  const resource = { 'service.name': 'example' }
  metrics = await createMetrics({ enabled: true, exporter: 'prometheus', host: '127.0.0.1', port: 0, resource })
  metrics.meter.createObservableGauge('example_gauge').addCallback(async (result) => {
    observed += 1
    await released
    result.observe(observed)
  })
  port = (await metrics.listen()) ?? 0
})
afterAll(() => metrics.close())

describe('the metrics listener', () => {
  it.each([
    ['GET', '/metrics?x=1', true],
    ['HEAD', '/metrics', false],
    ['HEAD', '/', false],
  ])('200: answers %s %s', async (method, path, hasBody) => {
    released = Promise.resolve()
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method })
    expect([answer.status, (await answer.text()) !== '']).toEqual([200, hasBody])
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  })

  it('makes one text for concurrent scrapes', async () => {
    const ask = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const { promise, resolve } = Promise.withResolvers<void>()
    released = promise
    observed = 0
    const asked = Promise.all(Array.from({ length: 20 }, ask))
    await expect.poll(() => observed).toBe(1)
    // The server answers this request after it has read the earlier ones.
    const other = await fetch(`http://127.0.0.1:${port}/other`)
    expect([other.status, await other.text()]).toEqual([404, ''])
    resolve()
    const texts = await asked
    expect(texts.every((text) => /^example_gauge\b.* \d+$/m.test(text))).toBe(true)
    expect(observed).toBeLessThan(20)
  })

  it('200: shows a browser a page with a link, and Prometheus the text', async () => {
    const open = async (path: string, accept: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { accept } })
      return [
        response.status,
        response.headers.get('content-type'),
        /<h1>([^<]*).*href="(\/[^"]*)"/s.exec(await response.text())?.slice(1),
      ]
    }
    const page = [200, 'text/html; charset=utf-8', ['Metrics of example', '/metrics']]
    const text = [200, 'text/plain; version=0.0.4; charset=utf-8', undefined]
    expect(await open('/', 'text/html,*/*;q=0.8')).toEqual(page)
    expect(await open('/metrics', 'text/html,*/*;q=0.8')).toEqual(text)
    expect(await open('/', 'text/plain;version=0.0.4;q=0.5,*/*;q=0.1')).toEqual(text)
  })

  it('cuts a client that sends too many requests ahead', async () => {
    const before = observed
    const client = connect(port, '127.0.0.1')
    client.on('error', () => {})
    client.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(500))
    await once(client.resume(), 'close')
    expect(observed - before).toBeLessThan(20)
  })
})
