import type { HttpError, HttpErrorOptions } from '@trestle/common/errors/define-error.ts'
import {
  insufficientStock,
  keyMismatch,
  keyRunning,
  locationInactive,
  locationNotFound,
  productNotFound,
  quantityAboveLimit,
  staleQuantity,
} from '../errors.ts'
import type { KeyRefusal, Refused } from '../idempotency/answer.ts'

/** Why stock cannot be moved. */
export type MoveRefusal =
  | 'product-not-found'
  | 'location-not-found'
  | 'location-inactive'
  | 'insufficient-stock'
  | 'stale-quantity'
  | 'above-limit'

/** Why stock cannot be reserved. */
export type ReserveRefusal = Extract<MoveRefusal, 'product-not-found' | 'location-not-found' | 'insufficient-stock'>

interface Refusal {
  readonly error: (options?: HttpErrorOptions) => HttpError
  /** The member of the error that tells the quantity. */
  readonly quantity?: string
  /** What is said where lines before it would have changed the quantity. */
  readonly laterLine?: string
}

const refusals: Readonly<Record<MoveRefusal | KeyRefusal, Refusal>> = {
  'product-not-found': { error: productNotFound },
  'location-not-found': { error: locationNotFound },
  'location-inactive': { error: locationInactive },
  'insufficient-stock': {
    error: insufficientStock,
    quantity: 'available',
    laterLine: 'There is not enough stock available for this line, after the lines before it.',
  },
  'stale-quantity': {
    error: staleQuantity,
    quantity: 'current',
    laterLine: 'The quantity on hand, after the lines before this one, is not the expected one.',
  },
  'above-limit': { error: quantityAboveLimit },
  'key-mismatch': { error: keyMismatch },
  'key-running': { error: keyRunning },
}

/**
 * The error of a request that was refused; `line` is told where there are several.
 * Nothing was done, so the quantity is the one before the first of them.
 */
export function stockRefusal({ verdict, quantity, line }: Refused<MoveRefusal>): HttpError {
  const { error, quantity: member, laterLine } = refusals[verdict]
  return error({
    ...(line && laterLine !== undefined ? { message: laterLine } : {}),
    details: { ...(member === undefined ? {} : { [member]: quantity }), ...(line === null ? {} : { line }) },
  })
}
