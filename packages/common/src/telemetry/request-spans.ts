import { FastifyOtelInstrumentation } from '@fastify/otel'
import { type Attributes, context, SpanStatusCode } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { statusOfCut } from './http-telemetry.ts'
import { createSpanExporter } from './otlp-exporters.ts'
import { braceRoute, routeOf, shownPath, snakeCase } from './path-of.ts'
import { CENSOR, REDACTED_MEMBERS } from './redaction.ts'
import type { Tracing, TracingConfig } from './tracing.ts'

const BATCH_MS = 5_000

/** Starts the library, and makes a span of each request. */
export async function startRequestSpans(config: TracingConfig): Promise<Tracing> {
  const sdk = new NodeSDK({
    resource: resourceFromAttributes(config.resource),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: await createSpanExporter(config.otlpProtocol),
        scheduledDelayMillis: BATCH_MS,
      }),
    ],
    metricReaders: [],
  })
  sdk.start()
  const instrumentation = new FastifyOtelInstrumentation({
    instrumentHooks: false,
    instrumentHandler: false,
    // Their messages may quote what a client has sent; the log has them, without that.
    recordExceptions: false,
    requestHook: (span, request) => span.setAttributes(requestAttributes(request, config.scrub)),
  })
  return {
    instrument: async (app) => {
      await app.register(instrumentation.plugin())
      // What follows runs inside the span, so that queries and calls become its children. Reading a body leaves it.
      const enterSpan = (request: FastifyRequest, _reply: unknown, done: () => void) => {
        const { context: own } = request.opentelemetry()
        if (own === null) done()
        else context.with(own, done)
      }
      app.addHook('onRequest', (request, reply, done) => {
        reply.raw.once('close', () => endSpanOfCut(request, reply))
        done()
      })
      app.addHook('onRequest', enterSpan)
      app.addHook('preValidation', enterSpan)
      // The plugin ends the span with the answer, before any onResponse hook of ours.
      app.addHook('onSend', async (request, reply) => {
        const { span } = request.opentelemetry()
        span?.setAttribute('http.status_code', reply.statusCode)
        // Known only now where an application behind a wildcard answers.
        if (request.mappedRoute !== undefined) span?.setAttributes(requestAttributes(request, config.scrub))
        // Takes the place of the status that the plugin has set with the error's message.
        if (reply.statusCode >= 400) span?.setStatus({ code: SpanStatusCode.ERROR })
      })
    },
    close: () => sdk.shutdown().catch(() => {}),
  }
}

/** With its answer a span ends; it may never come to one whose client has left. The status is that of the log. */
function endSpanOfCut(request: FastifyRequest, reply: FastifyReply): void {
  const { span } = request.opentelemetry()
  if (!span) return
  const status = statusOfCut(reply)
  span.setAttributes({ 'http.status_code': status, 'http.response.status_code': status })
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

/** Attributes of the span of a request (auth reference: Traces). Parameters of the route are in braces and in snake_case. */
function requestAttributes(request: FastifyRequest, scrub = (text: string) => text): Attributes {
  const attributes: Attributes = {
    'http.method': request.method,
    // Over the plugin's own value, which has the query and so may have tokens.
    'url.path': scrub(shownPath(request)),
    'http.route': braceRoute(routeOf(request)),
  }
  for (const [key, value] of Object.entries(paramsOf(request))) {
    // What a wildcard takes is no parameter.
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
