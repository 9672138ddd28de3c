import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { serviceNotFound, wantsPage } from '../documents/front-page.ts'
import { HttpError } from './define-error.ts'

interface ErrorHandlerOptions {
  readonly vocabulary: ErrorVocabulary
  /** False when a plugin answers URLs without a route. */
  readonly notFound?: boolean
}

/** Turns any thrown value into the service's envelope, and logs the parts that clients must not see. */
export const errorHandler = fp<ErrorHandlerOptions>(
  async (app, { vocabulary, notFound = true }) => {
    const toUnknownRoute = ({ url }: FastifyRequest) => {
      const allow = vocabulary.methodNotAllowed ? allowedMethods(app, url) : []
      return (allow.length > 0 ? vocabulary.methodNotAllowed?.(allow) : undefined) ?? vocabulary.notFound()
    }
    app.setErrorHandler((thrown, request, reply) => {
      // Fastify refuses QUERY without a media type before it looks for a route. No route takes QUERY.
      const isUnknown = notFound && codeOf(thrown) === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE'
      return sendError(
        vocabulary,
        isUnknown ? toUnknownRoute(request) : toHttpError(vocabulary, thrown, request),
        reply,
      )
    })
    if (!notFound) return
    app.setNotFoundHandler((request, reply) => {
      const error = toUnknownRoute(request)
      if (!showsNotFound(error, request)) return sendError(vocabulary, error, reply)
      logError(error, request)
      // Services may write every body as JSON.
      return reply.serializer(String).code(error.status).headers(serviceNotFound.headers).send(serviceNotFound.html)
    })
  },
  { name: 'error-handler' },
)

/**
 * Whether the client is a browser at an address without a page. Its link leads to the start, which is there
 * while the documents are.
 */
export function showsNotFound({ status }: Pick<HttpError, 'status'>, { server, headers }: FastifyRequest): boolean {
  return status === 404 && server.documentPages !== undefined && wantsPage(headers.accept)
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** The methods of the routes at the path of a URL, for the header Allow. Empty when no route has the path. */
function allowedMethods(app: FastifyInstance, url: string): readonly string[] {
  const path = url.split('?', 1)[0] ?? url
  return METHODS.filter((method) => app.findRoute({ method, url: path }) !== null)
}

/**
 * The error that a client gets for a thrown value: the value itself, an error of Fastify in the service's words, or a defect
 * (500).
 */
export function toHttpError(vocabulary: ErrorVocabulary, thrown: unknown, request: FastifyRequest): HttpError {
  if (thrown instanceof HttpError) return thrown
  if (hasZodFastifySchemaValidationErrors(thrown)) return vocabulary.invalid(toInvalidInput(thrown), request)
  if (vocabulary.isUnavailable(thrown)) return vocabulary.unavailable(thrown)
  return fromFastify(vocabulary, thrown, request) ?? vocabulary.unexpected(thrown, request)
}

/** Logs the code of an error with its request. Defects are logged only here. */
export function logError(error: HttpError, request: FastifyRequest): void {
  // 501 is a fault of the client: a method that no service knows.
  if (error.status >= 500 && error.status !== 501) {
    const isOutage = error.status === 503
    // A service that refuses on purpose has no defect. The line of the request says all: its status and the code of the error.
    const isExpected = isOutage && error.cause === undefined
    const fields = { err: error.cause ?? error, error_code: error.code }
    if (!isExpected) request.log[isOutage ? 'warn' : 'error'](fields, error.message)
  }
  request.errorCode = error.code
}

/** Logs a thrown value with its request, for answers that are not plain error bodies. @returns the error that the client gets */
export function logThrown(vocabulary: ErrorVocabulary, thrown: unknown, request: FastifyRequest): HttpError {
  const error = toHttpError(vocabulary, thrown, request)
  logError(error, request)
  return error
}

export function sendError(vocabulary: ErrorVocabulary, error: HttpError, reply: FastifyReply): FastifyReply {
  logError(error, reply.request)
  const { request } = reply
  reply.code(error.status).headers(error.headers)
  // Where a service writes bodies itself, Fastify sets no type for answers at unknown paths. A page sets its own.
  if (!reply.hasHeader('content-type')) reply.type('application/json; charset=utf-8')
  return reply.send(vocabulary.envelope(error, request))
}

function toInvalidInput(error: FastifyError): InvalidInput {
  return {
    context: error.validationContext ?? 'body',
    issues: (error.validation ?? []).map(({ instancePath, message, keyword, params }) => ({
      path: instancePath.split('/').filter((part) => part !== ''),
      message: message ?? 'is not valid',
      keyword,
      params,
    })),
  }
}

function fromFastify(vocabulary: ErrorVocabulary, thrown: unknown, request: FastifyRequest): HttpError | undefined {
  switch (codeOf(thrown)) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return vocabulary.tooLarge(thrown, request)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return vocabulary.unsupportedMediaType(thrown)
    case 'FST_ERR_NOT_FOUND':
      return vocabulary.notFound()
    default:
      return isClientFault(thrown) ? vocabulary.malformed(thrown) : undefined
  }
}

function codeOf(thrown: unknown): unknown {
  return thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
}

/** The errors of Fastify about a request have a status below 500. */
function isClientFault(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !('statusCode' in thrown)) return false
  return typeof thrown.statusCode === 'number' && thrown.statusCode >= 400 && thrown.statusCode < 500
}

export function decorateErrors(app: FastifyInstance): void {
  app.decorateRequest('errorCode')
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The stable code of the error that answered this request. */
    errorCode: string | undefined
  }
}

export interface InvalidInput {
  /** `body`, `params`, `querystring` or `headers`. */
  readonly context: string
  readonly issues: readonly InvalidPlace[]
}

interface InvalidPlace {
  readonly path: readonly string[]
  readonly message: string
  /** Zod's code of the issue. */
  readonly keyword: string
  /** Zod's other members of the issue. */
  readonly params: Readonly<Record<string, unknown>>
}

/** The errors of a service for failures before or outside its routes. */
export interface ErrorVocabulary {
  /** The body of an error, in the service's envelope. `request` is undefined when the bytes were no HTTP request. */
  envelope(error: HttpError, request: FastifyRequest | undefined): unknown
  /** The text of that body for requests that reach no route. By default JSON. */
  layOut?(body: unknown, status: number): string
  /** A request that a schema refused. */
  invalid(input: InvalidInput, request: FastifyRequest): HttpError
  /** A body that cannot be parsed, a path with a broken escape, a broken header. */
  malformed(cause: unknown): HttpError
  tooLarge(cause: unknown, request: FastifyRequest): HttpError
  /** A URL longer than 8 KiB. By default `malformed`. */
  uriTooLong?(cause: unknown): HttpError
  unsupportedMediaType(cause: unknown): HttpError
  notFound(): HttpError
  /** The path has routes for these methods only. By default `notFound`. */
  methodNotAllowed?(allow: readonly string[]): HttpError
  unavailable(cause: unknown): HttpError
  busy(): HttpError
  timedOut(cause: unknown): HttpError
  /** The body did not arrive in time. By default `timedOut`. */
  bodyTimedOut?(cause: unknown): HttpError
  /** Everything else: a defect. `request` is undefined outside of requests. */
  unexpected(cause: unknown, request?: FastifyRequest): HttpError
  isUnavailable(error: unknown): boolean
}
