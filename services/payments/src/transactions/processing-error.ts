import errors from './processing-errors.json' with { type: 'json' }

/** The reason why a card payment was refused, as clients see it. `client` and `merchant` say who may have caused the refusal. */
export interface ProcessingError {
  readonly code: number
  readonly message: string
  /** The same text as `message`, for older clients. */
  readonly text: string
  readonly client: boolean
  readonly merchant: boolean
}

const ERRORS: ReadonlyMap<number, ProcessingError> = new Map(
  errors.errors.map(({ code, message, client, merchant }) => [
    code,
    { code, message, text: message, client, merchant },
  ]),
)

/** The processing error with a number (reference: Processing errors). @throws RangeError if the number is not in the table */
export function processingError(code: number): ProcessingError {
  const error = ERRORS.get(code)
  if (error === undefined) throw new RangeError(`there is no processing error ${code}`)
  return error
}

/** The number of the processing error for each status code. The service shows and stores this number. */
const PROCESSING_ERRORS: ReadonlyMap<string, number> = new Map(
  errors.errors.flatMap(({ code, statusCodes }) => statusCodes.map((statusCode) => [statusCode, code])),
)

/** The status code of a payment whose outcome is unknown. */
export const UNKNOWN_OUTCOME = 'PAYMENT_METHOD_ERROR'

/** All status codes that refuse a card payment. */
export const REFUSAL_CODES: readonly string[] = [...PROCESSING_ERRORS.keys()]

/** The error number of a status code (reference: Processing errors). @throws RangeError if it has none */
export function processingErrorOf(statusCode: string): number {
  const error = PROCESSING_ERRORS.get(statusCode)
  if (error === undefined) throw new RangeError(`status code ${statusCode} has no processing error`)
  return error
}

/** Returns whether a status code means that a card payment was refused. */
export function isRefusal(statusCode: string): boolean {
  return PROCESSING_ERRORS.has(statusCode)
}

/** Returns the status code of a processing error. If several codes have the same error, returns the first one in the table. */
export function statusCodeOf(errorCode: number): string {
  // No status code stands for error 28, the missing permission to save cards. Use the status code of error 27, which also means a
  // missing permission.
  return [...PROCESSING_ERRORS].find(([, error]) => error === errorCode)?.[0] ?? 'PAYMENT_INTEGRATION_DISABLED'
}
