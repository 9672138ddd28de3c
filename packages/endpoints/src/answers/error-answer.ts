import type { Settings } from '../config/settings.ts'
import { CallError, ValidationError } from '../errors.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'

/** What a thrown value means to a client: its own words if it is a `CallError`, else 500 and no more than that. */
export function toCallError(thrown: unknown, exposeErrors: boolean): CallError {
  if (thrown instanceof CallError) return thrown
  const shown = exposeErrors ? String((thrown instanceof Error && thrown.stack) || thrown) : undefined
  return new CallError(500, shown, { cause: thrown })
}

/** The body of an error: its own, or the application's, or the envelope. */
export function errorBody(error: CallError, request: EndpointRequest, settings: Settings): unknown {
  if (error.body !== undefined) return error.body
  return settings.errorBody === undefined ? errorEnvelope(error) : settings.errorBody(error, request)
}

/** `{ statusCode, error: { type, description } }`, with the issues where a request was not valid. */
export function errorEnvelope(error: CallError): object {
  const { status, type, message } = error
  const issues = error instanceof ValidationError ? { issues: error.issues } : {}
  return { statusCode: status, error: { type, description: message, ...issues } }
}

/** Whether an error is a defect or an outage, and so belongs in the log. 501 is the client's doing. */
export function isFault(status: number): boolean {
  return status >= 500 && status !== 501
}
