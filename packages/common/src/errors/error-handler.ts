import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { serviceNotFound, wantsPage } from '../documents/front-page.ts'
import { HttpError } from './define-error.ts'

interface ErrorHandlerOptions {
  readonly vocabulary: ErrorVocabulary
  /** `false` if a plugin handles URLs without a route. */
  readonly notFound?: boolean
}

/** Converts any thrown value to the service's envelope, and logs the details that clients must not see. */
export const errorHandler = fp<ErrorHandlerOptions>(
  async (app, { vocabulary, notFound = true }) => {
    const toUnknownRoute = ({ url }: FastifyRequest) => {
      const allow = vocabulary.methodNotAllowed ? allowedMethods(app, url) : []
      return (allow.length > 0 ? vocabulary.methodNotAllowed?.(allow) : undefined) ?? vocabulary.notFound()
    }
    app.setErrorHandler((thrown, request, reply) => {
      // Fastify refuses QUERY without a media type before routing. No route takes QUERY.
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
      // Replace the serializer, because a service may have set one that writes every body as JSON.
      return reply.serializer(String).code(error.status).headers(serviceNotFound.headers).send(serviceNotFound.html)
    })
  },
  { name: 'error-handler' },
)

/**
 * Returns whether to show the page `Not found`: the client is a browser, and no page exists at the URL. Its link leads to the
 * start page, which exists only if the documents are enabled.
 */
export function showsNotFound({ status }: Pick<HttpError, 'status'>, { server, headers }: FastifyRequest): boolean {
  return status === 404 && server.documentPages !== undefined && wantsPage(headers.accept)
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** The methods of the routes at the path of a URL, for the header Allow. Empty if no route has the path. */
function allowedMethods(app: FastifyInstance, url: string): readonly string[] {
  const path = url.split('?', 1)[0] ?? url
  return METHODS.filter((method) => app.findRoute({ method, url: path }) !== null)
}

/**
 * Returns the error that a client gets for a thrown value. This is the value itself, the service's own error for an error of
 * Fastify, or a defect (500).
 */
export function toHttpError(vocabulary: ErrorVocabulary, thrown: unknown, request: FastifyRequest): HttpError {
  if (thrown instanceof HttpError) return thrown
  if (hasZodFastifySchemaValidationErrors(thrown)) return vocabulary.invalid(toInvalidInput(thrown), request)
  if (vocabulary.isUnavailable(thrown)) return vocabulary.unavailable(thrown)
  return fromFastify(vocabulary, thrown, request) ?? vocabulary.unexpected(thrown, request)
}

/** Logs the code of an error with its request. Defects are logged only here. */
export function logError(error: HttpError, request: FastifyRequest): void {
  // 501 is caused by the client, which sent an unknown method.
  if (error.status >= 500 && error.status !== 501) {
    const isOutage = error.status === 503
    // A service that refuses on purpose has no defect. The request's log line has the status and the code.
    const isExpected = isOutage && error.cause === undefined
    const fields = { err: error.cause ?? error, error_code: error.code }
    if (!isExpected) request.log[isOutage ? 'warn' : 'error'](fields, error.message)
  }
  request.errorCode = error.code
}

/**
 * Logs a thrown value with its request. Use it for responses that are not plain error bodies.
 * @returns the error that the client gets
 */
export function logThrown(vocabulary: ErrorVocabulary, thrown: unknown, request: FastifyRequest): HttpError {
  const error = toHttpError(vocabulary, thrown, request)
  logError(error, request)
  return error
}

export function sendError(vocabulary: ErrorVocabulary, error: HttpError, reply: FastifyReply): FastifyReply {
  logError(error, reply.request)
  const { request } = reply
  reply.code(error.status).headers(error.headers)
  // If a service writes bodies itself, Fastify sets no content type for unknown paths. A page has set its own.
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

/** Returns whether Fastify threw the error because of the request. Such errors have a status below 500. */
function isClientFault(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !('statusCode' in thrown)) return false
  return typeof thrown.statusCode === 'number' && thrown.statusCode >= 400 && thrown.statusCode < 500
}

export function decorateErrors(app: FastifyInstance): void {
  app.decorateRequest('errorCode')
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The stable code of the error in the response to this request. */
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
  /** Zod's code for the issue. */
  readonly keyword: string
  /** The other members of Zod's issue. */
  readonly params: Readonly<Record<string, unknown>>
}

/** The errors of a service for failures before or outside its routes. */
export interface ErrorVocabulary {
  /** Returns the body of an error, in the service's envelope. `request` is `undefined` if the bytes were not an HTTP request. */
  envelope(error: HttpError, request: FastifyRequest | undefined): unknown
  /** Formats that body as text for requests that reach no route. The default is JSON. */
  layOut?(body: unknown, status: number): string
  /** Returns the error for a request that a schema refused. */
  invalid(input: InvalidInput, request: FastifyRequest): HttpError
  /** Returns the error for a body that cannot be parsed, or a path with a broken escape, or a broken header. */
  malformed(cause: unknown): HttpError
  tooLarge(cause: unknown, request: FastifyRequest): HttpError
  /** Returns the error for a URL longer than 8 KiB. The default is `malformed`. */
  uriTooLong?(cause: unknown): HttpError
  unsupportedMediaType(cause: unknown): HttpError
  notFound(): HttpError
  /** Returns the error if the path has routes only for other methods. `allow` lists these methods. The default is `notFound`. */
  methodNotAllowed?(allow: readonly string[]): HttpError
  unavailable(cause: unknown): HttpError
  busy(): HttpError
  timedOut(cause: unknown): HttpError
  /** Returns the error for a body that did not arrive in time. The default is `timedOut`. */
  bodyTimedOut?(cause: unknown): HttpError
  /** Returns the error for a defect, that is for everything else. `request` is `undefined` outside of requests. */
  unexpected(cause: unknown, request?: FastifyRequest): HttpError
  isUnavailable(error: unknown): boolean
}
