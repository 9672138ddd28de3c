import { noteError, toHttpError } from '@trestle/common/errors/error-handler.ts'
import { Application, CallError, type EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import type { InventoryDeps } from '../deps.ts'
import { errorEnvelope, errorVocabulary, fromCallError } from '../error-vocabulary.ts'
import { keepNestedText } from '../json/json-object.ts'
import { endpointOptions } from '../openapi.ts'
import { fastifyRequestOf } from './fastify-request.ts'

/** Headers of answers that pages of other origins may read. */
const EXPOSED_HEADERS = [
  ...['ETag', 'Link', 'Location', 'Content-Disposition', 'X-Total-Count', 'X-Request-Id'],
  ...['Idempotent-Replayed', 'Retry-After', 'WWW-Authenticate'],
]

/** The controllers, found by their paths and given what they work with. */
export function createEndpoints(deps: InventoryDeps): Application<InventoryDeps> {
  const { config, log } = deps
  const { logger } = log
  const { corsOrigins: origins } = config
  const endpoints: Application<InventoryDeps> = new Application({
    ...endpointOptions,
    context: deps,
    bodyLimit: config.maxBodyBytes,
    cors: origins.length > 0 && { origins, expose: EXPOSED_HEADERS },
    json: { parse: keepNestedText },
    onError: (thrown, request) =>
      toAnswer(isTrace(thrown, request) ? refuseTrace(endpoints, request) : thrown, request),
    onFault: (error, request) => noteFault(error, request),
    log: {
      warn: (message) => logger.warn(message),
      error: (error, message) => logger.error({ err: error }, message),
    },
  })
  return endpoints.on('request', tellTelemetry)
}

/** Whether the framework has refused TRACE as a verb that it does not know. */
function isTrace(thrown: unknown, { method }: EndpointRequest): boolean {
  return method === 'TRACE' && thrown instanceof CallError && thrown.status === 501
}

/** 405 with `Allow`, or 404: HTTP defines TRACE, so 501 would be wrong for a method that is known and not allowed. */
function refuseTrace(endpoints: Application<InventoryDeps>, { path }: EndpointRequest): unknown {
  const { allow } = endpoints.resolve('OPTIONS', path)
  return allow.length > 0 ? errorVocabulary.methodNotAllowed?.(allow) : errorVocabulary.notFound()
}

/** The error that a client sees, in the words of this service, whatever was thrown. */
function toAnswer(thrown: unknown, request: EndpointRequest): CallError {
  const fastifyRequest = fastifyRequestOf(request)
  const cause = thrown instanceof CallError ? fromCallError(thrown) : thrown
  const error = toHttpError(errorVocabulary, cause, fastifyRequest)
  fastifyRequest.errorCode = error.code
  const { status, code, message, headers } = error
  return new CallError(status, message, { type: code, headers, body: errorEnvelope(error), cause })
}

/** Logs a defect or an outage by a text that is the same for all of its kind: ids belong into members of the line. */
function noteFault(thrown: unknown, request: EndpointRequest): void {
  const fastifyRequest = fastifyRequestOf(request)
  noteError(toHttpError(errorVocabulary, thrown, fastifyRequest), fastifyRequest)
}

/** Logs, metrics and traces name the route by its pattern; the server itself knows one wildcard. */
function tellTelemetry(request: EndpointRequest): void {
  const { pattern, positionals = [] } = request.route ?? {}
  // Traces alone ask for the parameters.
  fastifyRequestOf(request).mappedRoute = { pattern, params: () => paramsOf(pattern, positionals) }
}

function paramsOf(pattern: string | undefined, positionals: readonly string[]): Record<string, string> {
  const names = pattern?.match(/(?<=\{)\w+(?=\})/g) ?? []
  return Object.fromEntries(names.map((name, i) => [name, positionals[i] ?? '']))
}
