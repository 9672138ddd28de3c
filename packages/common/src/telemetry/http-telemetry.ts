import type { Meter } from '@opentelemetry/api'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { braceRoute, routeOf, shownPath } from './path-of.ts'
import { CENSOR, REDACTED_MEMBERS } from './redaction.ts'

export interface HttpTelemetryOptions {
  readonly meter: Meter
  /** Paths that are measured but not logged: health checks. */
  readonly quiet?: readonly string[]
}

/** Of a request whose client has left before its answer: never sent. The number is nginx's. */
const CLIENT_LEFT = 499
/** Of a request whose answer this side has broken off, whatever status it had begun with. */
const BROKEN_OFF = 500

/**
 * One log line and one histogram sample for each request, at its end, however it ends. Metrics are labelled by route
 * pattern, so no label holds an id. Routes add members to the line through `request.logFields`.
 */
export const httpTelemetry = fp<HttpTelemetryOptions>(
  async (app, { meter, quiet = ['/health', '/ready'] }) => {
    const duration = meter.createHistogram('http_server_request_duration_seconds', {
      description: 'Time from the first byte of a request to the last of its answer',
    })
    // Request lines are flat and hold no input but the path: only what a route adds is looked at for secrets.
    const lines = app.log.child({}, { redact: [] })
    const silent = new Set(quiet)
    const routes = new Map<string | undefined, string>()
    app.decorateRequest('logFields')
    app.decorateRequest('isRecorded', false)
    const record = (request: FastifyRequest, status: number, milliseconds: number) => {
      request.isRecorded = true
      const url = routeOf(request)
      let route = routes.get(url)
      if (route === undefined) {
        route = braceRoute(url)
        routes.set(url, route)
      }
      duration.record(milliseconds / 1_000, {
        http_request_method: request.method,
        http_route: route,
        http_response_status_code: status,
      })
      if (silent.has(url ?? '')) return
      const line = {
        request_id: request.id,
        method: request.method,
        path: shownPath(request),
        route,
        status,
        duration_ms: Math.round(milliseconds * 1_000) / 1_000,
        error_code: request.errorCode,
        ...censored(request.logFields),
      }
      if (status >= 500 && status !== 501) lines.error(line, 'request')
      else if (status >= 400) lines.warn(line, 'request')
      else lines.info(line, 'request')
    }
    app.addHook('onRequest', (request, reply, done) => {
      // Fastify knows no end of a request whose answer was not sent whole.
      reply.raw.on('close', () => {
        if (!request.isRecorded) record(request, statusOfCut(reply), reply.elapsedTime)
      })
      done()
    })
    app.addHook('onResponse', (request, reply, done) => {
      if (!request.isRecorded) record(request, reply.statusCode, reply.elapsedTime)
      done()
    })
  },
  { name: 'http-telemetry' },
)

/**
 * What stands for the status of a request whose answer was not sent whole. A client that leaves ends its side of the
 * connection first, or resets it.
 */
export function statusOfCut({ raw: { errored }, request: { raw } }: FastifyReply): number {
  const hasClientLeft = errored === null && (raw.socket.readableEnded || raw.socket.errored !== null)
  return hasClientLeft ? CLIENT_LEFT : BROKEN_OFF
}

function censored(fields: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  for (const name in fields) if (REDACTED_MEMBERS.has(name)) fields[name] = CENSOR
  return fields
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Further members of this request's log line. */
    logFields: Record<string, unknown> | undefined
    /** Its line is written. */
    isRecorded: boolean
  }
}
