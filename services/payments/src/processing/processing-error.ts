import table from './processing-errors.json' with { type: 'json' }

/** Why a card payment was refused, as clients see it. `client` and `merchant` say who may be at fault. */
export interface ProcessingError {
  readonly code: number
  readonly message: string
  /** The message again, for older readers. */
  readonly text: string
  readonly client: boolean
  readonly merchant: boolean
}

const ERRORS: ReadonlyMap<number, ProcessingError> = new Map(
  table.errors.map(({ code, message, client, merchant }) => [code, { code, message, text: message, client, merchant }]),
)

/** The processing error of a number (reference: Processing errors). @throws RangeError for a number that is not in the table */
export function processingError(code: number): ProcessingError {
  const error = ERRORS.get(code)
  if (error === undefined) throw new RangeError(`there is no processing error ${code}`)
  return error
}
