import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { HttpError } from '../errors/define-error.ts'
import type { ErrorVocabulary } from '../errors/error-handler.ts'
import { createServer } from '../server/create-server.ts'
import { httpTelemetry } from './http-telemetry.ts'
import { createMetrics } from './metrics.ts'

const refuse = () => new HttpError(400, 'refused', { message: 'Refused' })
const vocabulary: ErrorVocabulary = {
  envelope: ({ code }) => ({ code }),
  invalid: refuse,
  malformed: refuse,
  tooLarge: refuse,
  unsupportedMediaType: refuse,
  notFound: refuse,
  unavailable: refuse,
  busy: refuse,
  timedOut: refuse,
  unexpected: refuse,
  isUnavailable: () => false,
}

const lines: { readonly msg: string; readonly level: number; readonly path: string; readonly status: number }[] = []
const metrics = await createMetrics({ enabled: true, exporter: 'prometheus', host: '127.0.0.1', port: 0, resource: {} })
const logger = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
const app = createServer({ logger, vocabulary, now: () => new Date(), bodyLimit: 1_000, handlerTimeoutMs: 60_000 })
let begun = Promise.withResolvers<void>()
let answer = Promise.withResolvers<object>()

beforeAll(async () => {
  await app.register(httpTelemetry, { meter: metrics.meter })
  app.get('/waiting', () => {
    begun.resolve()
    return answer.promise
  })
  app.post('/things', () => ({}))
  app.get('/orders/:orderId', () => ({}))
  app.get('/endless', (_request, reply) => {
    reply.type('text/plain')
    return new Readable({
      read() {
        this.push('x'.repeat(65_536))
      },
    })
  })
  app.get('/broken-off', (_request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200).write('a part')
    reply.raw.destroy(new Error('the rest cannot be had'))
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
})
beforeEach(() => {
  lines.length = 0
  begun = Promise.withResolvers()
  answer = Promise.withResolvers()
})
afterAll(async () => {
  await app.close()
  await metrics.close()
})

function open(text: string): Socket {
  const socket = connect(Number(new URL(app.listeningOrigin).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(text)
  return socket
}

const ended = () => lines.filter(({ msg }) => msg === 'request').map(({ path, status }) => `${path} ${status}`)

describe('the log line of a request', () => {
  it.each([
    ['closes', (socket: Socket) => void socket.end()],
    ['disappears', (socket: Socket) => void socket.destroy()],
    ['resets the connection', (socket: Socket) => void socket.resetAndDestroy()],
  ])('is written once when the client %s before its answer', async (_how, leave) => {
    const socket = open('GET /waiting HTTP/1.1\r\nHost: a\r\n\r\n')
    await begun.promise
    leave(socket)
    await expect.poll(ended).toEqual(['/waiting 499'])
    answer.resolve({ late: true })
    await app.inject('/things')
    expect(ended()).toEqual(['/waiting 499', '/things 400'])
    expect(lines.find(({ status }) => status === 499)?.level).toBe(pino.levels.values.warn)
  })

  it('is written once when the client leaves within its body', async () => {
    const socket = open(
      'POST /things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{',
    )
    await once(app.server, 'request')
    socket.destroy()
    await expect.poll(ended).toEqual(['/things 499'])
  })

  it('is written once when the client leaves within its answer', async () => {
    const socket = open('GET /endless HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(socket, 'data')
    socket.destroy()
    await expect.poll(ended).toEqual(['/endless 499'])
  })

  it('is an error when this side breaks an answer off', async () => {
    const socket = open('GET /broken-off HTTP/1.1\r\nHost: a\r\n\r\n')
    socket.resume()
    await once(socket, 'close')
    await expect.poll(ended).toEqual(['/broken-off 500'])
  })

  it.each([
    ['/orders/4242424242424242', '/orders/[redacted] 200'],
    ['/orders/4242%204242%204242%204242', '/orders/[redacted] 200'],
    ['/orders/4242-4242-4242-4242', '/orders/[redacted] 200'],
    [`/orders/${'%34%32'.repeat(8)}`, '/orders/[redacted] 200'],
    ['/none/378282246310005/captures', '/none/[redacted]/captures 400'],
    ['/orders/4242424242424241', '/orders/4242424242424241 200'],
    ['/orders/424242424242', '/orders/424242424242 200'],
    ['/orders/6901f3a0000000000000000e', '/orders/6901f3a0000000000000000e 200'],
  ])('shows of the path %s no card number', async (path, expected) => {
    await app.inject(path)
    expect(ended()).toEqual([expected])
  })

  it('is written for each request of a connection', async () => {
    answer.resolve({})
    const request = 'GET /waiting HTTP/1.1\r\nHost: a\r\n\r\n'
    const socket = open(request + request)
    await expect.poll(ended).toEqual(['/waiting 200', '/waiting 200'])
    socket.destroy()
    await once(socket, 'close')
    expect(ended()).toHaveLength(2)
  })

  it('is counted in the metrics', async () => {
    const port = await metrics.listen()
    const requests = ['/waiting 499', '/waiting 200', '/broken-off 500', '/endless 499']
    const counts = async () => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      return requests.map((each) => {
        const [route, status] = each.split(' ')
        const labels = `http_route="${route}",http_response_status_code="${status}"`
        return Number(new RegExp(`_count\\{[^}]*${labels}\\} (\\d+)`).exec(text)?.[1] ?? 0)
      })
    }
    const before = await counts()
    open('GET /waiting HTTP/1.1\r\nHost: a\r\n\r\n').end()
    await expect.poll(ended).toEqual(['/waiting 499'])
    answer.resolve({})
    await app.inject('/waiting')
    open('GET /broken-off HTTP/1.1\r\nHost: a\r\n\r\n').resume()
    await expect.poll(ended).toEqual(requests.slice(0, 3))
    const socket = open('GET /endless HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(socket, 'data')
    socket.destroy()
    await expect.poll(ended).toEqual(requests)
    expect(await counts()).toEqual(before.map((count) => count + 1))
  })
})
