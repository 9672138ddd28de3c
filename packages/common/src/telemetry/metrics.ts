import type { Server } from 'node:http'
import type { Attributes, Meter } from '@opentelemetry/api'
import type { IMetricReader, MeterProvider } from '@opentelemetry/sdk-metrics'
import { boundConnections } from '../server/connection-bounds.ts'
import { createServer } from '../server/node-http.ts'
import { createDeferredMeter } from './deferred-meter.ts'
import { createMetricExporter, type OtlpProtocol } from './otlp-exporters.ts'

export interface MetricsConfig {
  readonly enabled: boolean
  /** `prometheus`: a listener of its own. `opentelemetry`: pushed by OTLP, to where OTEL_EXPORTER_OTLP_ENDPOINT says. */
  readonly exporter: 'prometheus' | 'opentelemetry'
  readonly otlpProtocol?: OtlpProtocol
  /** Of the listener. */
  readonly host: string
  readonly port: number
  /** OpenTelemetry resource attributes: `service.name`, `auth.version`. Those of OTEL_RESOURCE_ATTRIBUTES are merged in. */
  readonly resource: Attributes
}

/** The instruments of a process and the listener that prints them. */
export interface Metrics {
  readonly meter: Meter
  readonly enabled: boolean
  /** Opens the listener; resolves to its port, or undefined when there is none. */
  listen(): Promise<number | undefined>
  close(): Promise<void>
}

/** Makes the process's meter. Without metrics it is one that does nothing. */
export async function createMetrics(config: MetricsConfig): Promise<Metrics> {
  if (!config.enabled) {
    const { createNoopMeter } = await import('@opentelemetry/api')
    return { meter: createNoopMeter(), enabled: false, listen: async () => undefined, close: async () => {} }
  }
  return config.exporter === 'prometheus' ? createPrometheus(config) : createPush(config)
}

/** Seconds; requests of a few hundred microseconds to the longest allowed. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** What asks the database is left out of the answer after so long: Prometheus must learn of a database that is away. */
const OBSERVE_MS = 4_000
/** A request for metrics has arrived after so long. */
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

/** The libraries are loaded by `listen`: nothing that serves requests waits for them. */
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

function listen({ host, port }: MetricsConfig, render: () => Promise<string>): Promise<Server> {
  let rendering: Promise<string> | undefined
  // Who asks while it is made gets the same one: a thousand requests at once cost what one does.
  const renderOnce = () => {
    rendering ??= render().finally(() => {
      rendering = undefined
    })
    return rendering
  }
  const { handle, watch } = boundConnections((request, response) => {
    if (request.method !== 'GET' || !['/', '/metrics'].includes(request.url ?? '')) {
      response.writeHead(404).end()
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
