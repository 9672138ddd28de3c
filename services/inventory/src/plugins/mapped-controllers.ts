import { noteError, toHttpError } from '@trestle/common/errors/error-handler.ts'
import { Application, CallError, type EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import type { InventoryDeps } from '../deps.ts'
import { errorBody, errorVocabulary, fromCallError } from '../error-body.ts'
import { keepNestedText } from '../json/json-object.ts'
import { endpointOptions } from '../openapi.ts'
import { fastifyRequestOf } from './fastify-request.ts'

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

/** The controllers, which the framework maps to URLs, with what they work with. */
export function createEndpoints(deps: InventoryDeps): Application<InventoryDeps> {
  const { config, logger } = deps
  const { corsOrigins: origins } = config.server
  const endpoints: Application<InventoryDeps> = new Application({
    ...endpointOptions,
    context: deps,
    bodyLimit: config.bodyBytesMax,
    cors: origins.length > 0 && { origins, expose: EXPOSED_HEADERS },
    json: { parse: keepNestedText },
    onError: (thrown, request) =>
      toCallError(isUnknownTrace(thrown, request) ? refuseTrace(endpoints, request) : thrown, request),
    onFault: (error, request) => noteFault(error, request),
    log: {
      warn: (message) => logger.warn(message),
      error: (error, message) => logger.error({ err: error }, message),
    },
  })
  return endpoints
}

/** Whether the framework refused TRACE as an unknown verb. */
function isUnknownTrace(thrown: unknown, { method }: EndpointRequest): boolean {
  return method === 'TRACE' && thrown instanceof CallError && thrown.status === 501
}

/** 405 with `Allow`, or 404. HTTP defines TRACE, so the answer 501 of unknown methods would be wrong. */
function refuseTrace(endpoints: Application<InventoryDeps>, { path }: EndpointRequest): unknown {
  const { allow } = endpoints.resolve('OPTIONS', path)
  return allow.length > 0 ? errorVocabulary.methodNotAllowed(allow) : errorVocabulary.notFound()
}

/** Turns a thrown value into the error that the client sees. A value that is no known error becomes a 500. */
function toCallError(thrown: unknown, request: EndpointRequest): CallError {
  const fastifyRequest = fastifyRequestOf(request)
  const cause = thrown instanceof CallError ? fromCallError(thrown) : thrown
  const error = toHttpError(errorVocabulary, cause, fastifyRequest)
  fastifyRequest.errorCode = error.code
  const { status, code, message, headers } = error
  return new CallError(status, message, { type: code, headers, body: errorBody(error), cause })
}

/** Logs a defect or an outage. The text of the line is the same for all of a kind; ids are members of the line. */
function noteFault(thrown: unknown, request: EndpointRequest): void {
  const fastifyRequest = fastifyRequestOf(request)
  noteError(toHttpError(errorVocabulary, thrown, fastifyRequest), fastifyRequest)
}
