import type { Server } from 'node:http'
import type {
  Attributes,
  BatchObservableCallback,
  Counter,
  Gauge,
  Histogram,
  Meter,
  Observable,
  UpDownCounter,
} from '@opentelemetry/api'
import type { IMetricReader, MeterProvider } from '@opentelemetry/sdk-metrics'
import { boundConnections } from '../connections/connection-bounds.ts'
import { type RenderedPage, renderFrontPage, wantsPage } from '../documents/front-page.ts'
import { createServer } from '../server/node-http.ts'
import { createMetricExporter, type OtlpProtocol } from './otlp-exporters.ts'

export interface MetricsConfig {
  readonly enabled: boolean
  /** `prometheus` opens a listener. `opentelemetry` pushes metrics over OTLP to OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly exporter: 'prometheus' | 'opentelemetry'
  readonly otlpProtocol?: OtlpProtocol
  readonly host: string
  readonly port: number
  /** OpenTelemetry resource attributes: `service.name`, `auth.version`. Those of OTEL_RESOURCE_ATTRIBUTES are merged in. */
  readonly resource: Attributes
}

export interface Metrics {
  readonly meter: Meter
  readonly enabled: boolean
  /** Opens the listener. @returns its port, or `undefined` if there is no listener */
  listen(): Promise<number | undefined>
  close(): Promise<void>
}

/** Creates the meter of the process. If metrics are disabled, the meter does nothing. */
export async function createMetrics(config: MetricsConfig): Promise<Metrics> {
  if (!config.enabled) {
    const { createNoopMeter } = await import('@opentelemetry/api')
    return { meter: createNoopMeter(), enabled: false, listen: async () => undefined, close: async () => {} }
  }
  return config.exporter === 'prometheus' ? createPrometheus(config) : createPush(config)
}

/** Bucket boundaries in seconds, up to the longest time of a request. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** How long a scrape waits for values from other systems. Prometheus must get the rest without them. */
const OBSERVE_MS = 4_000
/** The time in which a request for metrics must arrive, in milliseconds. */
const REQUEST_MS = 10_000

async function createProvider(config: MetricsConfig, reader: IMetricReader) {
  const { AggregationType, InstrumentType, MeterProvider } = await import('@opentelemetry/sdk-metrics')
  const { detectResources, envDetector, resourceFromAttributes } = await import('@opentelemetry/resources')
  return new MeterProvider({
    resource: resourceFromAttributes(config.resource).merge(detectResources({ detectors: [envDetector] })),
    readers: [reader],
    views: [
      {
        instrumentName: '*_seconds',
        instrumentType: InstrumentType.HISTOGRAM,
        aggregation: { type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM, options: { boundaries: DURATION_BUCKETS } },
      },
    ],
  })
}

async function createPush(config: MetricsConfig): Promise<Metrics> {
  const { PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics')
  const exporter = await createMetricExporter(config.otlpProtocol)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 10_000 })
  const provider = await createProvider(config, reader)
  return {
    meter: provider.getMeter('trestle'),
    enabled: true,
    listen: async () => undefined,
    close: () => provider.shutdown(),
  }
}

/** Creates metrics for Prometheus. `listen` loads the libraries, so that no request waits for them. */
function createPrometheus(config: MetricsConfig): Metrics {
  const { meter, attach } = createDeferredMeter()
  let provider: MeterProvider | undefined
  let server: Server | undefined
  return {
    meter,
    enabled: true,
    listen: async () => {
      const { PrometheusExporter, PrometheusSerializer } = await import('@opentelemetry/exporter-prometheus')
      const { collectDefaultMetrics, Registry } = await import('prom-client')
      const exporter = new PrometheusExporter({ preventServerStart: true })
      const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
      provider = await createProvider(config, exporter)
      attach(provider.getMeter('trestle'))
      const processMetrics = new Registry()
      collectDefaultMetrics({ register: processMetrics })
      server = await listen(config, async () => {
        const { resourceMetrics } = await exporter.collect({ timeoutMillis: OBSERVE_MS })
        return serializer.serialize(resourceMetrics) + (await processMetrics.metrics())
      })
      const address = server.address()
      return typeof address === 'object' && address ? address.port : undefined
    },
    close: async () => {
      server?.closeAllConnections()
      await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
      await provider?.shutdown()
    },
  }
}

/**
 * Renders the page for a browser that opens the port. Prometheus requests plain text instead. The page has no link to the
 * service, because only a proxy knows the public URL of the service. The front page of the service has no link to this port,
 * because the port is private.
 */
function renderMetricsPage(service: unknown): RenderedPage {
  return renderFrontPage({
    title: typeof service === 'string' ? `Metrics of ${service}` : 'Metrics',
    about: 'Keep this port private: it is for Prometheus.',
    groups: [
      {
        heading: 'Read them',
        links: [
          { label: 'Metrics', href: '/metrics', about: 'All of this process, as text.' },
          { label: 'docs/observability.md', about: 'What each of them tells, with dashboards and alerts.' },
        ],
      },
    ],
  })
}

function listen({ host, port, resource }: MetricsConfig, render: () => Promise<string>): Promise<Server> {
  let rendering: Promise<string> | undefined
  const page = renderMetricsPage(resource['service.name'])
  // Concurrent scrapes share one result, so a thousand scrapes cost as much as one.
  const renderOnce = () => {
    rendering ??= render().finally(() => {
      rendering = undefined
    })
    return rendering
  }
  const { handle, watch } = boundConnections((request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1)
    // Node.js sends no body for HEAD.
    if (!['GET', 'HEAD'].includes(request.method ?? '') || !['/', '/metrics'].includes(path)) {
      response.writeHead(404).end()
      return
    }
    if (path === '/' && wantsPage(request.headers.accept)) {
      response.writeHead(200, page.headers).end(page.html)
      return
    }
    renderOnce().then(
      (text) => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  const server = createServer({ headersTimeout: REQUEST_MS, requestTimeout: REQUEST_MS }, handle)
  watch(server)
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve(server))
  })
}

type Act = (meter: Meter) => void

interface DeferredMeter {
  readonly meter: Meter
  /** Creates all instruments on the real meter and records the values so far. Call it once. */
  readonly attach: (target: Meter) => void
}

/**
 * Returns a meter whose instruments can be used before their library is loaded. The library has 300 files and would delay the
 * start. Until then, values wait in order.
 */
export function createDeferredMeter(): DeferredMeter {
  let real: Meter | undefined
  let waiting: Act[] = []
  const whenAttached = (act: Act): void => {
    if (real) act(real)
    else waiting.push(act)
  }
  const { instrument, adding, recording } = deferInstruments(whenAttached)
  /** The real observable of each observable that this meter has returned. */
  const realObservables = new WeakMap<Observable, { made?: Observable }>()
  // The cast is safe, because `observing` stores a real observable of the same kind for each observable that it returns.
  const realOf = <Given extends Observable>(given: Given): Given => (realObservables.get(given)?.made ?? given) as Given
  const observing = (create: (meter: Meter) => Observable): Observable => {
    const held = instrument(create)
    const given: Observable = {
      addCallback: (callback) => whenAttached(() => held.made?.addCallback(callback)),
      removeCallback: (callback) => whenAttached(() => held.made?.removeCallback(callback)),
    }
    realObservables.set(given, held)
    return given
  }
  const batches = new Map<BatchObservableCallback, BatchObservableCallback>()
  const meter: Meter = {
    createCounter: (...named) => adding((meter) => meter.createCounter(...named)),
    createUpDownCounter: (...named) => adding((meter) => meter.createUpDownCounter(...named)),
    createHistogram: (...named) => recording((meter) => meter.createHistogram(...named)),
    createGauge: (...named) => recording((meter) => meter.createGauge(...named)),
    createObservableCounter: (...named) => observing((meter) => meter.createObservableCounter(...named)),
    createObservableGauge: (...named) => observing((meter) => meter.createObservableGauge(...named)),
    createObservableUpDownCounter: (...named) => observing((meter) => meter.createObservableUpDownCounter(...named)),
    addBatchObservableCallback: (callback, observables) => {
      const translated: BatchObservableCallback = (result) =>
        callback({ observe: (metric, ...sample) => result.observe(realOf(metric), ...sample) })
      batches.set(callback, translated)
      whenAttached((meter) => meter.addBatchObservableCallback(translated, observables.map(realOf)))
    },
    removeBatchObservableCallback: (callback, observables) => {
      const translated = batches.get(callback)
      if (translated) whenAttached((meter) => meter.removeBatchObservableCallback(translated, observables.map(realOf)))
    },
  }
  return {
    meter,
    attach: (target: Meter): void => {
      const acts = waiting
      waiting = []
      real = target
      for (const act of acts) act(target)
    },
  }
}

/** Creates instruments that record as soon as the real meter exists. */
function deferInstruments(whenAttached: (act: Act) => void) {
  /** Returns a holder of an instrument. `made` is set as soon as the real meter exists. */
  const instrument = <Made>(create: (meter: Meter) => Made): { made?: Made } => {
    const held: { made?: Made } = {}
    whenAttached((meter) => {
      held.made = create(meter)
    })
    return held
  }
  return {
    instrument,
    adding: (create: (meter: Meter) => Counter | UpDownCounter): Counter => {
      const held = instrument(create)
      const add: Counter['add'] = (value, attributes, context) => {
        if (held.made) held.made.add(value, attributes, context)
        else whenAttached(() => add(value, attributes, context))
      }
      return { add }
    },
    recording: (create: (meter: Meter) => Histogram | Gauge): Histogram & Gauge => {
      const held = instrument(create)
      const record: Histogram['record'] = (value, attributes, context) => {
        if (held.made) held.made.record(value, attributes, context)
        else whenAttached(() => record(value, attributes, context))
      }
      return { record }
    },
  }
}
