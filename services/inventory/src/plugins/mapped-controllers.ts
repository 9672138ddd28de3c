import { DOCS_PATH } from '@trestle/common/documents/document-pages.ts'
import { serviceNotFound } from '@trestle/common/documents/front-page.ts'
import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { logError, showsNotFound, toHttpError } from '@trestle/common/errors/error-handler.ts'
import { findSuggestion } from '@trestle/common/errors/suggestion.ts'
import { Application, CallError, type EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import type { FastifyRequest } from 'fastify'
import type { InventoryDeps } from '../deps.ts'
import { errorBody, errorVocabulary, fromCallError } from '../error-body.ts'
import { notFound } from '../errors.ts'
import { keepNestedText } from '../json/json-object.ts'
import { endpointOptions } from '../openapi.ts'
import { fastifyReplyOf, fastifyRequestOf } from './fastify-request.ts'

/** Headers that pages of other origins may read (reference: Cross-origin requests). */
const EXPOSED_HEADERS = [
  'ETag',
  'Link',
  'Location',
  'Content-Disposition',
  'X-Total-Count',
  'X-Request-Id',
  'Idempotent-Replayed',
  'Retry-After',
  'WWW-Authenticate',
]

/** Creates the application of the framework, which maps the controllers to URLs. */
export function createEndpoints(deps: InventoryDeps): Application<InventoryDeps> {
  const { config, logger } = deps
  const { corsOrigins: origins } = config.server
  const endpoints: Application<InventoryDeps> = new Application({
    ...endpointOptions,
    context: deps,
    bodyLimit: config.bodyBytesMax,
    cors: origins.length > 0 && { origins, expose: EXPOSED_HEADERS },
    json: { parse: keepNestedText },
    onError: (thrown, request) => {
      if (!(thrown instanceof CallError && thrown.status === 404)) return toCallError(thrown, request)
      const error = toCallError(refusalOfPath(endpoints, request), request)
      // The framework skips a reply that was already sent.
      if (showsNotFound(error, fastifyRequestOf(request))) sendNotFound(request)
      return error
    },
    onFault: (error, request) => logFault(error, request),
    log: {
      warn: (message) => logger.warn(message),
      error: (error, message) => logger.error({ err: error }, message),
    },
  })
  return endpoints
}

function sendNotFound(request: EndpointRequest): void {
  fastifyReplyOf(request).code(404).headers(serviceNotFound.headers).send(serviceNotFound.html)
}

/** The number and length of path parts to compare with existing paths, because a client may send many long parts. */
const COMPARED_PARTS = 8
const COMPARED_LENGTH = 64

/** The refusal of a path without a controller. Suggests the most similar path. */
function refusalOfPath(endpoints: Application<InventoryDeps>, { path }: EndpointRequest): HttpError {
  const known = endpoints.routes().map(({ pattern }) => pattern.split('/')[1] ?? '')
  const parts = path.split('/').filter((part) => part !== '' && part.length <= COMPARED_LENGTH)
  // In `/products/1/stock` the first part exists, but the client probably means `/stock`.
  const candidates = parts.slice(0, COMPARED_PARTS).filter((part, at) => at > 0 || !known.includes(part))
  const word = candidates.map((part) => findSuggestion(part, known)).findLast((meant) => meant !== undefined)
  const suggestion = word === undefined ? undefined : `/${word}`
  return notFound({ suggestion, page: endpoints.context.config.server.docsEnabled ? DOCS_PATH : undefined })
}

/** Methods that HTTP defines but no controller accepts. The answer 501 for unknown methods would be wrong for them. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(['TRACE', 'QUERY'])

/** 405 with `Allow`, or 404. `undefined` for methods that the framework answers and targets that it refuses. */
export function refusalOfMethod(
  endpoints: Application<InventoryDeps>,
  { method, url }: Pick<FastifyRequest, 'method' | 'url'>,
): HttpError | undefined {
  if (!KNOWN_METHODS.has(method)) return undefined
  const { status, allow } = endpoints.resolve('OPTIONS', url.split('?', 1)[0] ?? url)
  if (allow.length > 0) return errorVocabulary.methodNotAllowed?.(allow)
  return status === 404 ? notFound({}) : undefined
}

/** Converts a thrown value to the error that the client sees. An unknown value becomes a 500. */
function toCallError(thrown: unknown, request: EndpointRequest): CallError {
  const fastifyRequest = fastifyRequestOf(request)
  const cause = thrown instanceof CallError ? fromCallError(thrown, fastifyRequest.headers['content-type']) : thrown
  const error = toHttpError(errorVocabulary, cause, fastifyRequest)
  fastifyRequest.errorCode = error.code
  const { status, code, message, headers } = error
  return new CallError(status, message, { type: code, headers, body: errorBody(error), cause })
}

/** Logs a defect or an outage. Log lines of one kind have the same text, and ids are separate members. */
function logFault(thrown: unknown, request: EndpointRequest): void {
  const fastifyRequest = fastifyRequestOf(request)
  logError(toHttpError(errorVocabulary, thrown, fastifyRequest), fastifyRequest)
}
