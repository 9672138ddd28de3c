import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Meter } from '@opentelemetry/api'
import { type FastifyBaseLogger, fastify, LogController } from 'fastify'
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { decorateErrors, errorHandler, sendError, toHttpError } from '../errors/error-handler.ts'
import type { ErrorVocabulary } from '../errors/error-vocabulary.ts'
import { placeOfSecret } from '../telemetry/path-of.ts'
import { RequestLog } from '../telemetry/request-log.ts'
import { answerBrokenRequest, createBrowserHeaders, JSON_TYPE, layOut, sendAnswers } from './answers.ts'
import { hasNoBodyPlace } from './body-places.ts'
import { boundedServer } from './bounded-server.ts'
import type { ConnectionBounds } from './connection-bounds.ts'
import { handlerDeadline } from './handler-deadline.ts'
import { type TrustedProxies, trustProxies } from './trusted-proxies.ts'

export interface ServerOptions {
  readonly logger: FastifyBaseLogger
  readonly vocabulary: ErrorVocabulary
  /** Counts the connections that are cut; undefined: nobody counts them. */
  readonly meter?: Meter
  /** For tests. */
  readonly connections?: Partial<ConnectionBounds>
  /** Name of the incoming header whose value becomes the request id; undefined: always a new UUID. */
  readonly requestIdHeader?: string | undefined
  /** What an incoming request id may look like. */
  readonly requestIdPattern?: RegExp
  /** Bytes. */
  readonly bodyLimit: number
  /** Time that a handler may take, in milliseconds. */
  readonly handlerTimeoutMs: number
  /** Time that a request may take to arrive; 0 where handlers say so themselves. By default a little more than the above. */
  readonly requestTimeoutMs?: number
  /** The proxies in front, each of which appends the address that called it to X-Forwarded-For; by default none. */
  readonly trustedProxies?: TrustedProxies | undefined
  /** Paths with and without a slash at the end are the same. */
  readonly ignoreTrailingSlash?: boolean
  /** `//a` is `/a`. */
  readonly ignoreDuplicateSlashes?: boolean
  /** Whether GET routes answer HEAD too. */
  readonly exposeHeadRoutes?: boolean
  /** Whether URLs that no route takes are answered here; false where a plugin does. */
  readonly notFound?: boolean
  /** Headers of the answers to requests so broken that no route sees them; their own headers may be gone too. */
  readonly brokenRequestHeaders?: (headers: IncomingHttpHeaders) => Readonly<Record<string, string>>
}

const URL_BYTES = 8_192
/** A Fastify server with the bounds, request ids, zod compilers and error envelope that all services share. */
export function createServer(options: ServerOptions) {
  const { vocabulary, trustedProxies = 0 } = options
  const browserHeaders = createBrowserHeaders(trustedProxies)
  const pattern = options.requestIdPattern ?? /^[\x21-\x7e]{1,128}$/
  const header = options.requestIdHeader?.toLowerCase()
  const app = fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    childLoggerFactory: (parent, bindings) => new RequestLog(parent, bindings),
    genReqId: (request) => {
      const incoming = header === undefined ? undefined : request.headers[header]
      return typeof incoming === 'string' && pattern.test(incoming) ? incoming : randomUUID()
    },
    bodyLimit: options.bodyLimit,
    serverFactory: (handler) => boundedServer(options, handler),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: options.exposeHeadRoutes ?? true,
    // Fastify would load ajv and its kin, 150 files, to have compilers that are replaced below.
    schemaController: { compilersFactory: { buildValidator: isReplaced, buildSerializer: isReplaced } },
    routerOptions: {
      ignoreTrailingSlash: options.ignoreTrailingSlash ?? false,
      ignoreDuplicateSlashes: options.ignoreDuplicateSlashes ?? false,
      maxParamLength: URL_BYTES,
    },
    frameworkErrors: (error, request, reply) => {
      // Fastify hands over a request without decorations, whose own protocol follows no proxy.
      reply.headers({ ...browserHeaders(request.raw), ...options.brokenRequestHeaders?.(request.headers) })
      reply.type(JSON_TYPE).serializer((body: unknown) => layOut(vocabulary, body, reply.statusCode))
      // No hook runs for these: their log line is written here.
      const known = toHttpError(vocabulary, error, request)
      const line = { request_id: request.id, method: request.method, route: 'noroute', status: known.status }
      options.logger.warn({ ...line, error_code: known.code }, 'request')
      return sendError(vocabulary, known, reply.header('x-request-id', request.id))
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(options, error, socket),
  }).withTypeProvider<ZodTypeProvider>()
  // Node would refuse other expectations than 100-continue itself, without the envelope; they may be ignored (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  decorateErrors(app)
  trustProxies(app, trustedProxies)
  app.decorateRequest('mappedRoute')
  app.addHook('onRoute', ({ url }) => void placeOfSecret(url))
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({ 'x-request-id': request.id, ...browserHeaders(request.raw) })
    if (hasNoBodyPlace(request.raw)) {
      // Its body is kept by nobody.
      reply.header('connection', 'close')
      return done(vocabulary.busy())
    }
    const isTooLong = request.url.length > URL_BYTES
    const hosts = countHosts(request.raw)
    if (!isTooLong && (hosts === 1 || (hosts === 0 && request.raw.httpVersion !== '1.1'))) return done()
    reply.headers({ ...options.brokenRequestHeaders?.(request.headers) })
    const cause = new Error(isTooLong ? 'URL longer than 8 KiB' : `${hosts} Host headers`)
    return done((isTooLong ? vocabulary.uriTooLong?.(cause) : undefined) ?? vocabulary.malformed(cause))
  })
  app.register(handlerDeadline, {
    timeoutMs: options.handlerTimeoutMs,
    timedOut: vocabulary.timedOut,
    bodyTimedOut: (cause) => vocabulary.bodyTimedOut?.(cause) ?? vocabulary.timedOut(cause),
  })
  app.register(sendAnswers)
  app.register(errorHandler, { vocabulary, notFound: options.notFound ?? true })
  return app
}

/** Of several, Node shows the first, where a proxy may have read another (RFC 9112, section 3.2). */
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

/** The type of what `createServer` returns. */
export type Server = ReturnType<typeof createServer>
