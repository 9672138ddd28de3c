import table from './status-codes.json' with { type: 'json' }

/** What an acquirer may answer when it declines, and the processing error that is told and kept for each. */
const PROCESSING_ERRORS: ReadonlyMap<string, number> = new Map(
  table.codes.flatMap(({ code, processingError }) => (processingError === null ? [] : [[code, processingError]])),
)

/** The number of the processing error of a status code (reference: Processing errors). @throws RangeError where there is none */
export function processingErrorOf(statusCode: string): number {
  const error = PROCESSING_ERRORS.get(statusCode)
  if (error === undefined) throw new RangeError(`status code ${statusCode} has no processing error`)
  return error
}

/** Whether a status code says that a card payment was refused. */
export function isRefusal(statusCode: string): boolean {
  return PROCESSING_ERRORS.has(statusCode)
}

/** The status code that names a processing error: of several the first of the table. */
export function statusCodeOf(errorCode: number): string {
  // That cards may not be kept is told nowhere else: the merchant lacks a right, as with 27.
  return [...PROCESSING_ERRORS].find(([, error]) => error === errorCode)?.[0] ?? 'PAYMENT_INTEGRATION_DISABLED'
}
