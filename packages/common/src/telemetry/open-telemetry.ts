import type { Attributes, SpanStatus } from '@opentelemetry/api'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { statusOfCut } from './http-telemetry.ts'
import { createMetrics, type Metrics, type MetricsConfig } from './metrics.ts'
import { createSpanExporter, type OtlpProtocol } from './otlp-exporters.ts'
import { braceRoute, routeOf, shownPath, snakeCase } from './path-of.ts'
import { CENSOR, REDACTED_MEMBERS } from './redaction.ts'

export interface Telemetry {
  readonly metrics: Metrics
  readonly tracing: Tracing
}

interface TelemetrySettings {
  readonly metrics: Omit<MetricsConfig, 'otlpProtocol' | 'resource'>
  readonly tracingEnabled: boolean
  readonly otlpProtocol: OtlpProtocol
}

/** Starts metrics and traces of one resource. `scrub` removes secrets from spans. */
export async function openTelemetry(
  { metrics, tracingEnabled, otlpProtocol }: TelemetrySettings,
  { resource, scrub }: Pick<TracingConfig, 'resource' | 'scrub'>,
): Promise<Telemetry> {
  const [openMetrics, tracing] = await Promise.all([
    createMetrics({ ...metrics, otlpProtocol, resource }),
    startTracing({ enabled: tracingEnabled, otlpProtocol, resource, scrub }),
  ])
  return { metrics: openMetrics, tracing }
}

interface TracingConfig {
  readonly enabled: boolean
  /** OpenTelemetry resource attributes: `service.name`, `auth.version`. Those of OTEL_RESOURCE_ATTRIBUTES are merged in. */
  readonly resource: Attributes
  readonly otlpProtocol?: OtlpProtocol
  /** Removes secrets from a path before a trace shows it. */
  readonly scrub?: ((text: string) => string) | undefined
}

/** Tracing of a process: one span for each request, with the spans of its queries and calls inside, sent by OTLP. */
export interface Tracing {
  /** Registers the span of each request. Call it before any route. */
  instrument(app: FastifyInstance): Promise<void>
  close(): Promise<void>
}

const BATCH_MS = 5_000

/** Starts tracing. When it is off, no library is loaded. A failed export never reaches a request. */
export async function startTracing(config: TracingConfig): Promise<Tracing> {
  if (!config.enabled) return { instrument: async () => {}, close: async () => {} }
  const { FastifyOtelInstrumentation } = await import('@fastify/otel')
  const { context, SpanStatusCode } = await import('@opentelemetry/api')
  const sdk = await startSdk(config)
  const failed: SpanStatus = { code: SpanStatusCode.ERROR }
  const instrumentation = new FastifyOtelInstrumentation({
    instrumentHooks: false,
    instrumentHandler: false,
    // The message of an exception may quote the input of a client. The log has it, redacted.
    recordExceptions: false,
    requestHook: (span, request) => span.setAttributes(requestAttributes(request, config.scrub)),
  })
  // Makes the span the active one, so that queries and calls become its children. Reading a body leaves the span.
  const enterSpan = (request: FastifyRequest, _reply: unknown, done: () => void) => {
    const { context: own } = request.opentelemetry()
    if (own === null) done()
    else context.with(own, done)
  }
  return {
    instrument: async (app) => {
      await app.register(instrumentation.plugin())
      app.addHook('onRequest', (request, reply, done) => {
        reply.raw.once('close', () => endSpanOfCut(request, reply, failed))
        done()
      })
      app.addHook('onRequest', enterSpan)
      app.addHook('preValidation', enterSpan)
      // The plugin ends the span with the answer, before any onResponse hook of ours.
      app.addHook('onSend', async (request, reply) => {
        const { span } = request.opentelemetry()
        span?.setAttribute('http.status_code', reply.statusCode)
        // An application behind a wildcard has named its route only now.
        if (request.mappedRoute !== undefined) span?.setAttributes(requestAttributes(request, config.scrub))
        // The plugin has put the error's message into the status. The message may quote the client, so it is replaced.
        if (reply.statusCode >= 400) span?.setStatus(failed)
      })
    },
    close: () => sdk.shutdown().catch(() => {}),
  }
}

async function startSdk({ resource, otlpProtocol }: TracingConfig) {
  const { resourceFromAttributes } = await import('@opentelemetry/resources')
  const { NodeSDK } = await import('@opentelemetry/sdk-node')
  const { BatchSpanProcessor } = await import('@opentelemetry/sdk-trace')
  const exporter = await createSpanExporter(otlpProtocol)
  const sdk = new NodeSDK({
    resource: resourceFromAttributes(resource),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: BATCH_MS })],
    metricReaders: [],
  })
  sdk.start()
  return sdk
}

/**
 * Ends the span of a request whose answer was not sent whole, which the plugin never ends. The span has the status that is
 * logged.
 */
function endSpanOfCut(request: FastifyRequest, reply: FastifyReply, failed: SpanStatus): void {
  const { span } = request.opentelemetry()
  if (!span) return
  const status = statusOfCut(reply)
  span.setAttributes({ 'http.status_code': status, 'http.response.status_code': status })
  span.setStatus(failed)
  span.end()
}

/** Attributes of the span of a request (auth reference: Traces). Parameters of the route are in braces and in snake_case. */
function requestAttributes(request: FastifyRequest, scrub = (text: string) => text): Attributes {
  const attributes: Attributes = {
    'http.method': request.method,
    // The plugin's value includes the query, which may have tokens, so it is replaced.
    'url.path': scrub(shownPath(request)),
    'http.route': braceRoute(routeOf(request)),
  }
  for (const [key, value] of Object.entries(paramsOf(request))) {
    // The value of a wildcard is the rest of the path, which `url.path` shows already.
    if (key === '*') continue
    const shown = REDACTED_MEMBERS.has(key) ? CENSOR : scrub(String(value))
    attributes[`http.route.params.${snakeCase(key)}`] = shown
  }
  return attributes
}

function paramsOf({ mappedRoute, is404, params }: FastifyRequest): object {
  if (mappedRoute !== undefined) return mappedRoute.params()
  return is404 || typeof params !== 'object' || params === null ? {} : params
}
