import type { ErrorFactory, HttpError } from '@trestle/common/errors/define-error.ts'
import {
  insufficientStock,
  insufficientStockForLine,
  keyMismatch,
  keyRunning,
  locationInactive,
  locationNotFound,
  productNotFound,
  quantityAboveLimit,
  staleQuantity,
  staleQuantityForLine,
} from '../errors.ts'
import type { KeyRefusal, Refused } from '../idempotency/answer.ts'

/** Why a movement of stock is refused, as its SQL function says it. */
export type MoveRefusal =
  | 'product-not-found'
  | 'location-not-found'
  | 'location-inactive'
  | 'insufficient-stock'
  | 'stale-quantity'
  | 'above-limit'

/** Why a reservation is refused, as its SQL function says it. */
export type ReserveRefusal = Extract<MoveRefusal, 'product-not-found' | 'location-not-found' | 'insufficient-stock'>

interface RefusalErrors {
  readonly error: ErrorFactory
  /** The member of the error that holds the quantity. */
  readonly quantityMember?: string
  /** In place of `error` for a later line, because the lines before it may have changed the quantity. */
  readonly laterLineError?: ErrorFactory
}

const refusals: Readonly<Record<MoveRefusal | KeyRefusal, RefusalErrors>> = {
  'product-not-found': { error: productNotFound },
  'location-not-found': { error: locationNotFound },
  'location-inactive': { error: locationInactive },
  'insufficient-stock': {
    error: insufficientStock,
    quantityMember: 'available',
    laterLineError: insufficientStockForLine,
  },
  'stale-quantity': { error: staleQuantity, quantityMember: 'current', laterLineError: staleQuantityForLine },
  'above-limit': { error: quantityAboveLimit },
  'key-mismatch': { error: keyMismatch },
  'key-running': { error: keyRunning },
}

/**
 * The error of a refused request. `line` is null unless the request has several lines. Nothing was done, so `quantity` is the
 * quantity before the first line.
 */
export function stockRefusal({ verdict, quantity, line }: Refused<MoveRefusal>): HttpError {
  const { error, quantityMember, laterLineError = error } = refusals[verdict]
  const create = line ? laterLineError : error
  return create({
    details: {
      ...(quantityMember === undefined ? {} : { [quantityMember]: quantity }),
      ...(line === null ? {} : { line }),
    },
  })
}
