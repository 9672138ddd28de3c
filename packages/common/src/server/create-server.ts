import { randomUUID } from 'node:crypto'
import type { Server as HttpServer, IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Meter } from '@opentelemetry/api'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import fp from 'fastify-plugin'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { answerSlowBody, hasBodySlot, hasNoBodySlot, leaveBodySlot, moveBodySlot } from '../capacity/body-slots.ts'
import { boundedServer, type ConnectionBounds } from '../connections/connection-bounds.ts'
import type { HttpError } from '../errors/define-error.ts'
import { decorateErrors, type ErrorVocabulary, errorHandler, sendError, toHttpError } from '../errors/error-handler.ts'
import { RequestLog } from '../telemetry/http-telemetry.ts'
import { placeOfSecret, shownPath } from '../telemetry/path-of.ts'
import { isCardNumber } from '../telemetry/redaction.ts'
import { answerBrokenRequest, createBrowserHeaders, errorText, JSON_TYPE, sendAnswers } from './answers.ts'
import { type TrustedProxies, trustProxies } from './trusted-proxies.ts'

/** Options of a server. Times are in milliseconds, sizes in bytes. */
export interface ServerOptions {
  readonly logger: FastifyBaseLogger
  readonly vocabulary: ErrorVocabulary
  /** Used for the header Date of responses that Node does not write. */
  readonly now: () => Date
  /** Counts the connections that are cut. If `undefined`, they are not counted. */
  readonly meter?: Meter
  /** Replaced by tests. */
  readonly connections?: Partial<ConnectionBounds>
  /** The request header whose value becomes the request id. If `undefined`, the id is always a new UUID. */
  readonly requestIdHeader?: string | undefined
  readonly requestIdPattern?: RegExp
  readonly bodyLimit: number
  readonly headBytesMax?: number
  readonly handlerTimeoutMs: number
  /**
   * The time in which a request must arrive. 0 means that handlers set the limit themselves. The default is `handlerTimeoutMs`
   * plus the time for the request head.
   */
  readonly requestTimeoutMs?: number
  /** The proxies in front of the service. Each appends the address of its client to X-Forwarded-For. The default is no proxy. */
  readonly trustedProxies?: TrustedProxies | undefined
  readonly ignoreTrailingSlash?: boolean
  /** A second base path for every route, such as `/auth/v1`. */
  readonly secondBase?: string | undefined
  readonly ignoreDuplicateSlashes?: boolean
  readonly exposeHeadRoutes?: boolean
  /** Whether this server handles URLs without a route. `false` if a plugin does. */
  readonly notFound?: boolean
  /** Headers for responses to requests too broken to reach a route. The headers of such a request may be missing. */
  readonly brokenRequestHeaders?: (headers: IncomingHttpHeaders) => Readonly<Record<string, string>>
}

/** A server with zod schemas. The types of requests and responses are derived from the schemas of a route. */
export type Server = FastifyInstance<HttpServer, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

const URL_BYTES_MAX = 8_192
/** The symbol under which Fastify looks up the name of a plugin. */
const DISPLAY_NAME = Symbol.for('fastify.display-name')

/** Returns a Fastify server with the limits, request ids, zod compilers and error envelope that are common to all services. */
export function createServer(options: ServerOptions): Server {
  const { vocabulary, trustedProxies = 0 } = options
  const browserHeaders = createBrowserHeaders(trustedProxies)
  const app = fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    childLoggerFactory: (parent, bindings) => new RequestLog(parent, bindings),
    genReqId: createRequestIds(options),
    bodyLimit: options.bodyLimit,
    serverFactory: (handler) => boundedServer(options, handler),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: options.exposeHeadRoutes ?? true,
    ...(options.secondBase === undefined ? {} : { rewriteUrl: createRewrite(options.secondBase) }),
    // Without this, Fastify would load ajv with its dependencies (150 files) for compilers that are replaced below.
    schemaController: { compilersFactory: { buildValidator: isReplaced, buildSerializer: isReplaced } },
    routerOptions: {
      ignoreTrailingSlash: options.ignoreTrailingSlash ?? false,
      ignoreDuplicateSlashes: options.ignoreDuplicateSlashes ?? false,
      maxParamLength: URL_BYTES_MAX,
    },
    frameworkErrors: (error, request, reply) => {
      // Fastify passes a request without decorations. Its `protocol` ignores proxies, so read the raw request.
      reply.headers(browserHeaders(request.raw))
      return answerFrameworkError(options, error, request, reply)
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(options, error, socket),
  }).withTypeProvider<ZodTypeProvider>()
  app.register = namePlugins(app.register)
  // Node itself would refuse any expectation except 100-continue, without the envelope of the service. A server may ignore
  // unknown expectations (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // CONNECT asks for a tunnel, but no service is a proxy. Node would close the connection without a response.
  app.server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    answerBrokenRequest(options, new Error('CONNECT asks for a tunnel'), socket)
    socket.on('error', () => socket.destroy()).destroySoon()
  })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  decorateErrors(app)
  trustProxies(app, trustedProxies)
  app.decorateRequest('mappedRoute')
  app.addHook('onRoute', ({ url }) => void placeOfSecret(url))
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({ 'x-request-id': request.id, ...browserHeaders(request.raw) })
    const refusal = findRefusal(options, request, reply)
    // Set the layout here for unknown paths, because the plugins of a service are registered later.
    if (refusal && request.is404) reply.serializer((body: unknown) => errorText(vocabulary, body, reply.statusCode))
    done(refusal)
  })
  app.register(handlerDeadline, {
    handlerTimeoutMs: options.handlerTimeoutMs,
    timedOut: vocabulary.timedOut,
    bodyTimedOut: (cause) => vocabulary.bodyTimedOut?.(cause) ?? vocabulary.timedOut(cause),
    busy: () => vocabulary.busy(),
  })
  app.register(sendAnswers)
  app.register(errorHandler, { vocabulary, notFound: options.notFound ?? true })
  return app
}

/**
 * Returns a `register` that names plugins after their functions. Fastify compares an unnamed plugin twice with every module that
 * `require` has loaded, before it uses the function name.
 */
function namePlugins<Register extends CallableFunction>(register: Register): Register {
  return new Proxy(register, {
    apply: (target, app, [plugin, ...options]) => {
      if (typeof plugin === 'function') plugin[DISPLAY_NAME] ??= plugin.name
      return Reflect.apply(target, app, [plugin, ...options])
    },
  })
}

/** Returns a function that removes the base path from the URL of a request. The base must end at a path segment. */
function createRewrite(base: string): (request: IncomingMessage) => string {
  return ({ url = '/' }) => {
    if (!url.startsWith(base)) return url
    const rest = url.slice(base.length)
    if (rest.startsWith('/')) return rest
    return rest === '' || rest.startsWith('?') ? `/${rest}` : url
  }
}

/** Uses the header's value if it has the accepted form, otherwise a UUID. Never uses card numbers, as ids are logged. */
function createRequestIds({ requestIdHeader, requestIdPattern = /^[\x21-\x7e]{1,128}$/ }: ServerOptions) {
  const header = requestIdHeader?.toLowerCase()
  return ({ headers }: { readonly headers: IncomingHttpHeaders }): string => {
    const incoming = header === undefined ? undefined : headers[header]
    if (typeof incoming !== 'string' || !requestIdPattern.test(incoming) || isCardNumber(incoming)) return randomUUID()
    return incoming
  }
}

/** Responds to a request that Fastify refuses before any hook runs, and writes its log line. */
function answerFrameworkError(
  { vocabulary, logger, brokenRequestHeaders }: ServerOptions,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.headers({ ...brokenRequestHeaders?.(request.headers) })
  reply.type(JSON_TYPE).serializer((body: unknown) => errorText(vocabulary, body, reply.statusCode))
  const known = toHttpError(vocabulary, error, request)
  const line = { request_id: request.id, method: request.method, route: 'noroute', status: known.status }
  logger.warn({ ...line, error_code: known.code }, 'request')
  return sendError(vocabulary, known, reply.header('x-request-id', request.id))
}

/** The error for a request without a body slot, with a too long URL, or without exactly one Host header. */
function findRefusal(
  { vocabulary, brokenRequestHeaders }: ServerOptions,
  { raw, url, headers }: FastifyRequest,
  reply: FastifyReply,
): HttpError | undefined {
  if (hasNoBodySlot(raw)) {
    // The body is not read, so the connection cannot be used again.
    reply.header('connection', 'close')
    return vocabulary.busy()
  }
  const isTooLong = url.length > URL_BYTES_MAX
  const hosts = countHosts(raw)
  if (!isTooLong && (hosts === 1 || (hosts === 0 && raw.httpVersion !== '1.1'))) return undefined
  reply.headers({ ...brokenRequestHeaders?.(headers) })
  const cause = new Error(isTooLong ? 'URL longer than 8 KiB' : `${hosts} Host headers`)
  return (isTooLong ? vocabulary.uriTooLong?.(cause) : undefined) ?? vocabulary.malformed(cause)
}

/** If there are several Host headers, Node uses the first, but a proxy may use another (RFC 9112, section 3.2). */
function countHosts({ rawHeaders }: IncomingMessage): number {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === 'host') hosts += 1
  }
  return hosts
}

function isReplaced(): never {
  throw new Error('schemas are compiled by zod')
}

interface HandlerDeadlineOptions {
  /** The time that a handler may take, in milliseconds. It is checked every 250 ms. */
  readonly handlerTimeoutMs: number
  readonly timedOut: (cause: unknown) => HttpError
  readonly bodyTimedOut: (cause: unknown) => HttpError
  readonly busy: () => HttpError
}

const CHECK_MS = 250

/**
 * Responds to a request whose handler takes too long. Fastify's `handlerTimeout` does the same, but creates an AbortController
 * and a timer for each request, and both were visible in profiles. Here one timer checks all requests.
 *
 * The running requests are kept in an array. A request that ends leaves its position empty. A Map that changes with every request
 * would keep a chain of old tables, and V8 keeps finished requests in these tables until the next full collection.
 */
export const handlerDeadline = fp<HandlerDeadlineOptions>(
  async (app, { handlerTimeoutMs, timedOut, bodyTimedOut, busy }) => {
    const running: (Running | undefined)[] = []
    const empty: number[] = []
    const timer = setInterval(() => {
      const latestMs = performance.now() - handlerTimeoutMs
      for (const [slot, each] of running.entries()) {
        if (each === undefined || each.arrivedMs > latestMs) continue
        leave(each.reply, slot)
        if (isBodyAwaited(each.reply)) dropBody(each.reply, `the body took longer than ${handlerTimeoutMs} ms`)
        else expire(each.reply, timedOut(new Error(`the handler took longer than ${handlerTimeoutMs} ms`)))
      }
    }, CHECK_MS)
    timer.unref()
    app.addHook('onClose', (_app, done) => {
      clearInterval(timer)
      done()
    })
    const leave = (reply: FastifyReply, slot: number) => {
      running[slot] = undefined
      empty.push(slot)
      reply.slotOfDeadline = undefined
    }
    const begin = (reply: FastifyReply) => {
      const slot = empty.pop() ?? running.length
      running[slot] = { reply, arrivedMs: performance.now() }
      reply.slotOfDeadline = slot
    }
    const dropBody = (reply: FastifyReply, reason: string) => {
      // The rest of the body is not read, so the connection cannot be used again.
      reply.header('connection', 'close')
      expire(reply, bodyTimedOut(new Error(reason)))
    }
    app.decorateReply('placeOfDeadline')
    app.decorateReply('liftDeadline', function liftDeadline() {
      if (this.slotOfDeadline !== undefined) leave(this, this.slotOfDeadline)
      leaveBodySlot(this.request.raw)
    })
    app.decorateReply('countForCaller', async function countForCaller(caller: string) {
      const { raw } = this.request
      const isTimed = this.slotOfDeadline !== undefined
      // Stop the time limit while the body waits for its slot, so that waiting does not reduce the time of the handler.
      if (this.slotOfDeadline !== undefined) leave(this, this.slotOfDeadline)
      const hasSlot = await moveBodySlot(raw, `caller ${caller}`)
      if (isTimed) begin(this)
      if (hasSlot) return
      this.header('connection', 'close')
      throw busy()
    })
    app.addHook('onRequest', ({ raw }, reply, done) => {
      if (hasBodySlot(raw)) answerSlowBody(raw, () => dropBody(reply, 'the body came slowly while others waited'))
      begin(reply)
      done()
    })
    app.addHook('onResponse', (_request, reply, done) => {
      if (reply.slotOfDeadline !== undefined) leave(reply, reply.slotOfDeadline)
      done()
    })
  },
  { name: 'handler-deadline' },
)

interface Running {
  readonly reply: FastifyReply
  readonly arrivedMs: number
}

/** Returns whether the client has not yet sent its whole body. Injected requests have no such state. */
function isBodyAwaited({ request: { raw } }: FastifyReply): boolean {
  return raw.complete === false
}

function expire(reply: FastifyReply, error: HttpError): void {
  if (reply.sent || reply.request.raw.socket.destroyed) return
  // A response that has begun cannot be replaced, so close the connection.
  if (reply.raw.headersSent) reply.raw.destroy(error)
  else {
    // Drop a later result of the handler. Otherwise Fastify would log a stack trace for it.
    reply.raw.once('finish', () => reply.hijack())
    reply.send(error)
  }
  // If the handler sends a late response, Fastify logs the URL. Remove the query, because it may contain a token.
  reply.request.raw.url = shownPath(reply.request)
}

declare module 'fastify' {
  interface FastifyReply {
    /** The position of the request in the array of running requests. */
    slotOfDeadline: number | undefined
    /** Removes the time limit of the request. For handlers that stream data without storing it and have their own limits. */
    liftDeadline(): void
    /**
     * Counts the request for its caller instead of its address. Call it after the token or key is verified, and before the body
     * is read. The body waits while other bodies of the caller use the whole share of one client.
     * @throws the error of a busy service if no slot becomes free in time
     */
    countForCaller(caller: string): Promise<void>
  }
}
