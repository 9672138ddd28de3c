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
  /** For the header Date of answers that Node does not write. */
  readonly now: () => Date
  /** Counts the connections that are cut. Undefined: they are not counted. */
  readonly meter?: Meter
  /** For tests. */
  readonly connections?: Partial<ConnectionBounds>
  /** The request header whose value becomes the request id. Undefined: the id is always a new UUID. */
  readonly requestIdHeader?: string | undefined
  readonly requestIdPattern?: RegExp
  readonly bodyLimit: number
  readonly headBytesMax?: number
  readonly handlerTimeoutMs: number
  /**
   * How long a request may take to arrive. 0: handlers set it themselves. By default `handlerTimeoutMs` and the time for the
   * head.
   */
  readonly requestTimeoutMs?: number
  /** The proxies in front. Each appends the address of its caller to X-Forwarded-For. By default none. */
  readonly trustedProxies?: TrustedProxies | undefined
  readonly ignoreTrailingSlash?: boolean
  /** A path below which every route answers too, such as `/auth/v1`. */
  readonly secondBase?: string | undefined
  readonly ignoreDuplicateSlashes?: boolean
  readonly exposeHeadRoutes?: boolean
  /** Whether this server answers URLs without a route. False when a plugin does. */
  readonly notFound?: boolean
  /** Headers for answers to requests that are too broken to reach a route. The headers of such a request may be missing. */
  readonly brokenRequestHeaders?: (headers: IncomingHttpHeaders) => Readonly<Record<string, string>>
}

/** A server with zod schemas: the types of requests and answers follow from the schemas of a route. */
export type Server = FastifyInstance<HttpServer, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

const URL_BYTES_MAX = 8_192
/** The symbol under which Fastify looks for the name of a plugin. */
const DISPLAY_NAME = Symbol.for('fastify.display-name')

/** Returns a Fastify server with the limits, request ids, zod compilers and error envelope that all services share. */
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
    // Fastify would load ajv and its dependencies, 150 files, for compilers that are replaced below.
    schemaController: { compilersFactory: { buildValidator: isReplaced, buildSerializer: isReplaced } },
    routerOptions: {
      ignoreTrailingSlash: options.ignoreTrailingSlash ?? false,
      ignoreDuplicateSlashes: options.ignoreDuplicateSlashes ?? false,
      maxParamLength: URL_BYTES_MAX,
    },
    frameworkErrors: (error, request, reply) => {
      // Fastify passes a request without decorations, whose `protocol` ignores proxies.
      reply.headers(browserHeaders(request.raw))
      return answerFrameworkError(options, error, request, reply)
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(options, error, socket),
  }).withTypeProvider<ZodTypeProvider>()
  app.register = namePlugins(app.register)
  // Node would refuse other expectations than 100-continue itself, without the envelope. A server may ignore them (RFC 9110,
  // 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // Node would close the connection without an answer: CONNECT asks for a tunnel, and no service is a proxy.
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
    // The layout of a service does not reach refusals at unknown paths: its plugins come later.
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
 * Returns a `register` that names plugins after their functions. Fastify compares a plugin without a name
 * with every module that `require` has loaded, twice, before it takes that name.
 */
function namePlugins<Register extends CallableFunction>(register: Register): Register {
  return new Proxy(register, {
    apply: (target, app, [plugin, ...options]) => {
      if (typeof plugin === 'function') plugin[DISPLAY_NAME] ??= plugin.name
      return Reflect.apply(target, app, [plugin, ...options])
    },
  })
}

/** Returns a function that removes the base from the URL of a request. Only a whole path segment is the base. */
function createRewrite(base: string): (request: IncomingMessage) => string {
  return ({ url = '/' }) => {
    if (!url.startsWith(base)) return url
    const rest = url.slice(base.length)
    if (rest.startsWith('/')) return rest
    return rest === '' || rest.startsWith('?') ? `/${rest}` : url
  }
}

/** Makes the ids of requests: the value of the header if it has the accepted form, otherwise a UUID. Logs show no card number. */
function createRequestIds({ requestIdHeader, requestIdPattern = /^[\x21-\x7e]{1,128}$/ }: ServerOptions) {
  const header = requestIdHeader?.toLowerCase()
  return ({ headers }: { readonly headers: IncomingHttpHeaders }): string => {
    const incoming = header === undefined ? undefined : headers[header]
    if (typeof incoming !== 'string' || !requestIdPattern.test(incoming) || isCardNumber(incoming)) return randomUUID()
    return incoming
  }
}

/** Answers a request that Fastify refuses before any hook runs. Its log line is written here. */
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

/** The error for a request whose body has no slot, whose URL is too long, or which has not exactly one Host header. */
function findRefusal(
  { vocabulary, brokenRequestHeaders }: ServerOptions,
  { raw, url, headers }: FastifyRequest,
  reply: FastifyReply,
): HttpError | undefined {
  if (hasNoBodySlot(raw)) {
    // The body stays unread, so the connection cannot be used again.
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

/** If there are several Host headers, Node uses the first, and a proxy may use another (RFC 9112, section 3.2). */
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
  /** Checked every quarter of a second. */
  readonly handlerTimeoutMs: number
  readonly timedOut: (cause: unknown) => HttpError
  /** The error for a request whose body has not arrived in time. */
  readonly bodyTimedOut: (cause: unknown) => HttpError
  /** The error for a request whose body gets no slot. */
  readonly busy: () => HttpError
}

const CHECK_MS = 250

/**
 * Answers a request whose handler takes too long. Fastify's `handlerTimeout` does the same, but makes and aborts an
 * AbortController and a timer for each request; both stood out in profiles. Here one timer checks all requests.
 *
 * The requests stand in an array, and each leaves its slot empty. A Map that changes with every request keeps a chain of its
 * old tables, in which V8 keeps finished requests until the next full collection.
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
      // A body that waits for its slot does not use up the time of the handler.
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

/** Whether the client has not sent all of its body. An injected request has no such state. */
function isBodyAwaited({ request: { raw } }: FastifyReply): boolean {
  return raw.complete === false
}

function expire(reply: FastifyReply, error: HttpError): void {
  if (reply.sent || reply.request.raw.socket.destroyed) return
  // An answer that has begun cannot be replaced.
  if (reply.raw.headersSent) reply.raw.destroy(error)
  else {
    // The answer is sent, so a later result of the handler is dropped. Fastify would log a stack trace for each of them.
    reply.raw.once('finish', () => reply.hijack())
    reply.send(error)
  }
  // When the handler sends something after all, Fastify logs the URL. The query may hold a token.
  reply.request.raw.url = shownPath(reply.request)
}

declare module 'fastify' {
  interface FastifyReply {
    /** The slot of the request among those that run. */
    slotOfDeadline: number | undefined
    /**
     * Removes the time limit. For handlers that send or read as long as there is data, keep none of it, and have their own
     * limits.
     */
    liftDeadline(): void
    /**
     * Counts the request for its caller, whose token or key is verified, instead of its address. Call it before the body is
     * read. The body waits while other bodies of the caller take up the share of one client.
     * @throws the error of a busy service when no slot becomes free in time
     */
    countForCaller(caller: string): Promise<void>
  }
}
