import { type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { QuerySpans } from './query-spans.ts'

const tracer = trace.getTracer('@trestle/database')

const ATTRIBUTES = { 'db.system.name': 'postgresql' }

/** Spans of OpenTelemetry. */
export const querySpans: QuerySpans = {
  within: (name, run) => (trace.getActiveSpan() === undefined ? run() : runInSpan(name, run)),
  record: (name, durationMs, failed) => {
    // OpenTelemetry places times of this clock on its own: exact to microseconds, and not moved when the wall clock is.
    const end = performance.now()
    const startTime = end - durationMs
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes: ATTRIBUTES, startTime })
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(end)
  },
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
