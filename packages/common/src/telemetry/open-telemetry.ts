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

/** Starts metrics and tracing for one resource. `scrub` removes secrets from spans. */
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
  /** Removes secrets from a path before it is added to a span. */
  readonly scrub?: ((text: string) => string) | undefined
}

/** Tracing of a process. Each request has one span, with child spans for its queries and calls. Spans are sent over OTLP. */
export interface Tracing {
  /** Adds a span to each request. Call it before any route is registered. */
  instrument(app: FastifyInstance): Promise<void>
  close(): Promise<void>
}

const BATCH_MS = 5_000

/** Starts tracing. If tracing is disabled, no library is loaded. A failed export never affects a request. */
export async function startTracing(config: TracingConfig): Promise<Tracing> {
  if (!config.enabled) return { instrument: async () => {}, close: async () => {} }
  const { FastifyOtelInstrumentation } = await import('@fastify/otel')
  const { context, SpanStatusCode } = await import('@opentelemetry/api')
  const sdk = await startSdk(config)
  const failed: SpanStatus = { code: SpanStatusCode.ERROR }
  const instrumentation = new FastifyOtelInstrumentation({
    instrumentHooks: false,
    instrumentHandler: false,
    // The message of an exception may contain input of a client. The log has the message in redacted form.
    recordExceptions: false,
    requestHook: (span, request) => span.setAttributes(requestAttributes(request, config.scrub)),
  })
  // Makes the span active for child spans of queries and calls. Reading a body leaves the span.
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
      // The plugin ends the span with the response, before any onResponse hook of this module runs.
      app.addHook('onSend', async (request, reply) => {
        const { span } = request.opentelemetry()
        span?.setAttribute('http.status_code', reply.statusCode)
        // An application behind a wildcard route sets its route name only before this point.
        if (request.mappedRoute !== undefined) span?.setAttributes(requestAttributes(request, config.scrub))
        // The plugin has set the error's message as the status. Replace it, because the message may contain client input.
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
 * Ends the span of a request whose response was not sent completely, because the plugin does not end it. The span gets the same
 * status as the log line.
 */
function endSpanOfCut(request: FastifyRequest, reply: FastifyReply, failed: SpanStatus): void {
  const { span } = request.opentelemetry()
  if (!span) return
  const status = statusOfCut(reply)
  span.setAttributes({ 'http.status_code': status, 'http.response.status_code': status })
  span.setStatus(failed)
  span.end()
}

/** The span attributes of a request (auth reference: Traces). Route parameters are in braces and in snake_case. */
function requestAttributes(request: FastifyRequest, scrub = (text: string) => text): Attributes {
  const attributes: Attributes = {
    'http.method': request.method,
    // Replaces the plugin's value, which includes the query. The query may contain tokens.
    'url.path': scrub(shownPath(request)),
    'http.route': braceRoute(routeOf(request)),
  }
  for (const [key, value] of Object.entries(paramsOf(request))) {
    // The value of a wildcard is the rest of the path, which `url.path` already contains.
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
