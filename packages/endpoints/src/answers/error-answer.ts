import type { Settings } from '../config/settings.ts'
import { CallError, ValidationError } from '../errors.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'

/**
 * The error that a client sees for a thrown value: the value itself if it is a `CallError`, else a 500, which
 * shows why only with the option `exposeErrors`.
 */
export function toCallError(thrown: unknown, { exposeErrors }: Pick<Settings, 'exposeErrors'>): CallError {
  if (thrown instanceof CallError) return thrown
  const shown = exposeErrors ? String((thrown instanceof Error && thrown.stack) || thrown) : undefined
  return new CallError(500, shown, { cause: thrown })
}

/** The body of an error: its own, the body of the option `errorBody`, or the envelope. */
export function errorBody(error: CallError, request: EndpointRequest, settings: Settings): unknown {
  if (error.body !== undefined) return error.body
  return settings.errorBody === undefined ? errorEnvelope(error) : settings.errorBody(error, request)
}

/** `{ statusCode, error: { type, description } }`, for a ValidationError with its issues. */
export function errorEnvelope(error: CallError): object {
  const { status, type, message } = error
  const issues = error instanceof ValidationError ? { issues: error.issues } : {}
  return { statusCode: status, error: { type, description: message, ...issues } }
}

/** Whether a status means a defect or an outage, which is logged. 501 is caused by the client. */
export function isFault(status: number): boolean {
  return status >= 500 && status !== 501
}
