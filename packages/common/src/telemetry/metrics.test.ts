import { once } from 'node:events'
import { connect } from 'node:net'
import type {
  BatchObservableCallback,
  Counter,
  Histogram,
  Meter,
  Observable,
  ObservableCallback,
} from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDeferredMeter, createMetrics, type Metrics } from './metrics.ts'

let metrics: Metrics
let port: number
let observed = 0
/** The callback of the gauge waits for this promise. */
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
    // The server handles this request only after it has read the earlier ones.
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

let exporter: InMemoryMetricExporter
let provider: MeterProvider
beforeEach(() => {
  exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] })
})
afterEach(() => provider.shutdown())

/** Returns the instruments of a meter, with the values of their first points. */
async function collect(): Promise<Record<string, unknown>> {
  await provider.forceFlush()
  const [{ scopeMetrics = [] } = {}] = exporter.getMetrics()
  const metrics = scopeMetrics.flatMap((scope) => scope.metrics)
  return Object.fromEntries(metrics.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints[0]?.value]))
}

interface Instruments {
  readonly counter: Counter
  readonly upDown: Counter
  readonly histogram: Histogram
  readonly gauge: Histogram
  readonly observed: readonly Observable[]
}

function createAll(meter: Meter): Instruments {
  return {
    counter: meter.createCounter('counter'),
    upDown: meter.createUpDownCounter('up_down'),
    histogram: meter.createHistogram('histogram'),
    gauge: meter.createGauge('gauge'),
    observed: [
      meter.createObservableCounter('observed_counter'),
      meter.createObservableGauge('observed_gauge'),
      meter.createObservableUpDownCounter('observed_up_down'),
    ],
  }
}

function useAll({ counter, upDown, histogram, gauge }: Instruments): void {
  counter.add(2)
  upDown.add(3)
  histogram.record(4)
  gauge.record(5)
}

describe('createDeferredMeter', () => {
  it('records before and after the meter exists, with every kind of instrument', async () => {
    const { meter, attach } = createDeferredMeter()
    const early = createAll(meter)
    const gone: ObservableCallback = (result) => result.observe(1_000)
    for (const each of early.observed) {
      each.addCallback(gone)
      each.addCallback((result) => result.observe(7))
      each.removeCallback(gone)
    }
    useAll(early)
    attach(provider.getMeter('test'))
    useAll(early)
    const late = meter.createCounter('late')
    late.add(11)
    expect(await collect()).toEqual({
      counter: 4,
      up_down: 6,
      gauge: 5,
      late: 11,
      // The meter chooses the boundaries of the buckets.
      histogram: { count: 2, sum: 8, min: 4, max: 4, buckets: expect.any(Object) },
      observed_counter: 7,
      observed_gauge: 7,
      observed_up_down: 7,
    })
  })

  it('takes callbacks for several instruments, before and after the meter exists', async () => {
    const { meter, attach } = createDeferredMeter()
    const one = meter.createObservableGauge('one')
    const two = meter.createObservableGauge('two')
    const gone: BatchObservableCallback = (result) => result.observe(one, 1_000)
    meter.addBatchObservableCallback((result) => result.observe(one, 1, { a: 'b' }), [one])
    meter.addBatchObservableCallback(gone, [one])
    meter.removeBatchObservableCallback(gone, [one])
    attach(provider.getMeter('batches'))
    meter.addBatchObservableCallback((result) => result.observe(two, 2), [two])
    const collected = await collect()
    expect([collected.one, collected.two]).toEqual([1, 2])
  })
})
