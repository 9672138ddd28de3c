import type { Attributes } from '@opentelemetry/api'
import type { FastifyInstance } from 'fastify'
import type { OtlpProtocol } from './otlp-exporters.ts'

export interface TracingConfig {
  readonly enabled: boolean
  /** OpenTelemetry resource attributes: `service.name`, `auth.version`. Those of OTEL_RESOURCE_ATTRIBUTES are merged in. */
  readonly resource: Attributes
  readonly otlpProtocol?: OtlpProtocol
  /** Takes out of a path what a trace must not show. */
  readonly scrub?: (text: string) => string
}

/** Tracing of a process: one span a request, queries and calls inside it, sent by OTLP. */
export interface Tracing {
  /** Registers the span of each request. Call before any route. */
  instrument(app: FastifyInstance): Promise<void>
  close(): Promise<void>
}

/** Starts tracing. Where it is off nothing is loaded. Export failures never reach a request. */
export async function startTracing(config: TracingConfig): Promise<Tracing> {
  if (!config.enabled) return { instrument: async () => {}, close: async () => {} }
  const { startRequestSpans } = await import('./request-spans.ts')
  return startRequestSpans(config)
}
