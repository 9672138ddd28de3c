import type { Meter } from '@opentelemetry/api'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Bindings, ChildLoggerOptions } from 'pino'
import { braceRoute, routeOf, shownPath } from './path-of.ts'
import { CENSOR, REDACTED_MEMBERS } from './redaction.ts'

interface HttpTelemetryOptions {
  readonly meter: Meter
  /** Paths that are measured but not logged, for example health checks. */
  readonly quiet?: readonly string[]
}

/** The logged status if the client left before its response. It is never sent. nginx uses the same number. */
const CLIENT_LEFT = 499
/** The logged status if the server aborted its response, whatever status was sent. */
const BROKEN_OFF = 500

/**
 * Writes one log line and one histogram sample for each request when it ends, even if it is aborted. Metrics use the route
 * pattern as a label, so that no label contains an id. Routes add members to the line with `request.logFields`.
 */
export const httpTelemetry = fp<HttpTelemetryOptions>(
  async (app, { meter, quiet = ['/health', '/ready'] }) => {
    const duration = meter.createHistogram('http_server_request_duration_seconds', {
      description: 'Time from the first byte of a request to the last of its answer',
    })
    // Request lines are flat, and their only input is the path. So only the members that routes add are checked for secrets.
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
      // Fastify runs no hook if the response was not sent completely.
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
 * Returns the status to log if the response was not sent completely. A client that leaves ends its side of the connection first,
 * or resets the connection.
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
    logFields: Record<string, unknown> | undefined
    isRecorded: boolean
  }
}

type Arguments = readonly unknown[]

/**
 * The logger of one request. Its lines contain the request id. It creates a child of the server's logger only on first use,
 * because most requests write no lines of their own.
 */
export class RequestLog {
  readonly #parent: FastifyBaseLogger
  readonly #bindings: Bindings
  #made: FastifyBaseLogger | undefined

  constructor(parent: FastifyBaseLogger, bindings: Bindings) {
    this.#parent = parent
    this.#bindings = bindings
  }

  get level(): string {
    return this.#parent.level
  }

  fatal(...line: Arguments): void {
    this.#write('fatal', line)
  }

  error(...line: Arguments): void {
    this.#write('error', line)
  }

  warn(...line: Arguments): void {
    this.#write('warn', line)
  }

  info(...line: Arguments): void {
    this.#write('info', line)
  }

  debug(...line: Arguments): void {
    this.#write('debug', line)
  }

  trace(...line: Arguments): void {
    this.#write('trace', line)
  }

  silent(): void {}

  child(bindings: Bindings, options?: ChildLoggerOptions): FastifyBaseLogger {
    return this.#own().child(bindings, options)
  }

  #write(level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace', line: Arguments): void {
    const own = this.#own()
    Reflect.apply(own[level], own, line)
  }

  #own(): FastifyBaseLogger {
    this.#made ??= this.#parent.child(this.#bindings)
    return this.#made
  }
}
