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
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDeferredMeter } from './deferred-meter.ts'

let exporter: InMemoryMetricExporter
let provider: MeterProvider
beforeEach(() => {
  exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] })
})
afterEach(() => provider.shutdown())

/** The instruments that a meter has, with the values of their first points. */
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
      // The meter shares the values out to buckets of its own choice.
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
