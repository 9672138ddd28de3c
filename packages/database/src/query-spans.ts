import type { Span, SpanOptions, Tracer } from '@opentelemetry/api'

/** Makes the spans of queries. A span has the name of its query, never its values. */
export interface QuerySpans {
  /** Runs a query inside a span; outside a traced request without a span. */
  readonly within: <T>(name: string, run: () => Promise<T>) => Promise<T>
  /** Records the span of a query that has just ended. @param durationMs how long the query took */
  readonly record: (name: string, durationMs: number, failed: boolean) => void
}

/**
 * Loads the instrumentation that creates the spans of queries.
 * @returns undefined where requests are not traced: then the library, which has 50 files, is not loaded
 */
export async function loadQuerySpans({
  tracingEnabled,
}: {
  readonly tracingEnabled: boolean
}): Promise<QuerySpans | undefined> {
  if (!tracingEnabled) return undefined
  const { SpanKind, SpanStatusCode, trace } = await import('@opentelemetry/api')
  const tracer: Tracer = trace.getTracer('@trestle/database')
  const options: SpanOptions = { kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql' } }
  const runInSpan = <T>(name: string, run: () => Promise<T>): Promise<T> =>
    tracer.startActiveSpan(name, options, async (span: Span) => {
      try {
        return await run()
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR })
        throw error
      } finally {
        span.end()
      }
    })
  return {
    within: <T>(name: string, run: () => Promise<T>): Promise<T> =>
      trace.getActiveSpan() === undefined ? run() : runInSpan(name, run),
    record: (name: string, durationMs: number, failed: boolean): void => {
      // OpenTelemetry accepts times of this clock. They are exact to microseconds and do not jump with the wall clock.
      const endMs = performance.now()
      const span = tracer.startSpan(name, { ...options, startTime: endMs - durationMs })
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(endMs)
    },
  }
}
