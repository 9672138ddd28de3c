import type { FieldError } from '../bodies/field-error.ts'

/** A charge of a card that the merchant has charged before. Of the two sources one is given. */
export interface Charge {
  readonly transactionId?: string | undefined
  readonly cardId?: string | undefined
  readonly currency: string
  /** Minor units. */
  readonly amount: number
  readonly descriptor?: string | undefined
  readonly custom?: object | undefined
  readonly reference?: string | undefined
}

/** What a charge goes back to is not there, or not the merchant's, or was refused itself: which of them is not told. */
export function unknownSource(field: string): FieldError {
  return { field, message: 'must be of a successful payment of this merchant', code: 'UNKNOWN' }
}
