import errors from './processing-errors.json' with { type: 'json' }

/** Why a card payment was refused, as clients see it. `client` and `merchant` say who may have caused it. */
export interface ProcessingError {
  readonly code: number
  readonly message: string
  /** The message again, for older readers. */
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

/** The processing error of a number (reference: Processing errors). @throws RangeError for a number that is not in the table */
export function processingError(code: number): ProcessingError {
  const error = ERRORS.get(code)
  if (error === undefined) throw new RangeError(`there is no processing error ${code}`)
  return error
}

/** The status codes of refusals, and the processing error of each, which is shown and stored. */
const PROCESSING_ERRORS: ReadonlyMap<string, number> = new Map(
  errors.errors.flatMap(({ code, statusCodes }) => statusCodes.map((statusCode) => [statusCode, code])),
)

/** The status code of a payment whose outcome is unknown. */
export const UNKNOWN_OUTCOME = 'PAYMENT_METHOD_ERROR'

/** All status codes that refuse a card payment. */
export const REFUSAL_CODES: readonly string[] = [...PROCESSING_ERRORS.keys()]

/** The number of the processing error of a status code (reference: Processing errors). @throws RangeError for one without */
export function processingErrorOf(statusCode: string): number {
  const error = PROCESSING_ERRORS.get(statusCode)
  if (error === undefined) throw new RangeError(`status code ${statusCode} has no processing error`)
  return error
}

/** Whether a status code says that a card payment was refused. */
export function isRefusal(statusCode: string): boolean {
  return PROCESSING_ERRORS.has(statusCode)
}

/** The status code of a processing error: the first one in the table. */
export function statusCodeOf(errorCode: number): string {
  // No status code stands for 28, a missing permission to save cards. Use the status code of 27, which is also a missing
  // permission.
  return [...PROCESSING_ERRORS].find(([, error]) => error === errorCode)?.[0] ?? 'PAYMENT_INTEGRATION_DISABLED'
}
