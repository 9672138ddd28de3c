import type { Meter } from '@opentelemetry/api'
import fp from 'fastify-plugin'
import { braceRoute, routeOf, shownPath } from './path-of.ts'
import { CENSOR, REDACTED_MEMBERS } from './redaction.ts'

export interface HttpTelemetryOptions {
  readonly meter: Meter
  /** Paths that are measured but not logged: health checks. */
  readonly quiet?: readonly string[]
}

/**
 * One log line and one histogram sample for each request, at its end. Metrics are labelled by route
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
    app.addHook('onResponse', (request, reply, done) => {
      const url = routeOf(request)
      let route = routes.get(url)
      if (route === undefined) {
        route = braceRoute(url)
        routes.set(url, route)
      }
      const status = reply.statusCode
      const milliseconds = reply.elapsedTime
      duration.record(milliseconds / 1_000, {
        http_request_method: request.method,
        http_route: route,
        http_response_status_code: status,
      })
      if (silent.has(url ?? '')) return done()
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
      done()
    })
  },
  { name: 'http-telemetry' },
)

function censored(fields: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  for (const name in fields) if (REDACTED_MEMBERS.has(name)) fields[name] = CENSOR
  return fields
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Further members of this request's log line. */
    logFields: Record<string, unknown> | undefined
  }
}
