import { type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

const tracer = trace.getTracer('@trestle/database')

/**
 * Runs a query inside a client span that carries its name, never its values. Outside a traced request, and so wherever
 * tracing is off, there is no span and no cost.
 */
export function withQuerySpan<T>(name: string, run: () => Promise<T>): Promise<T> {
  return trace.getActiveSpan() === undefined ? run() : runInSpan(name, run)
}

function runInSpan<T>(name: string, run: () => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, { kind: SpanKind.CLIENT, attributes: ATTRIBUTES }, async (span: Span) => {
    try {
      return await run()
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    } finally {
      span.end()
    }
  })
}

/** Records a query that has ended, `durationMs` ago begun. */
export function recordQuerySpan(name: string, durationMs: number, failed: boolean): void {
  // OpenTelemetry places times of this clock on its own: exact to microseconds, and not moved when the wall clock is.
  const end = performance.now()
  const span = tracer.startSpan(name, {
    kind: SpanKind.CLIENT,
    attributes: ATTRIBUTES,
    startTime: end - durationMs,
  })
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end(end)
}

const ATTRIBUTES = { 'db.system.name': 'postgresql' }
