import {
  insufficientStock,
  insufficientStockForLine,
  locationInactive,
  quantityAboveLimit,
  staleQuantity,
  staleQuantityForLine,
} from '../errors.ts'
import type { Refused } from '../idempotency/answer.ts'
import { refuseKey } from '../idempotency/refuse-key.ts'
import { requireLocation } from '../locations/location.ts'
import { requireProduct } from '../products/product.ts'

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

/**
 * Refuses a request. `line` is null unless the request has several lines. Nothing was done, so `quantity` is the quantity before
 * the first line.
 * @throws productNotFound, locationNotFound, locationInactive, insufficientStock, staleQuantity or quantityAboveLimit, as the
 * verdict says; insufficientStockForLine or staleQuantityForLine for a later line, because the lines before it may have changed
 * the quantity; keyMismatch or keyRunning when the Idempotency-Key is refused
 */
export function refuseStock({ verdict, quantity, line }: Refused<MoveRefusal>): never {
  const details = line === null ? {} : { line }
  const refusal = requireLocation(requireProduct(verdict, details), details)
  switch (refusal) {
    case 'location-inactive':
      throw locationInactive({ details })
    case 'insufficient-stock':
      if (line) throw insufficientStockForLine({ details: { available: quantity, line } })
      throw insufficientStock({ details: { available: quantity, ...details } })
    case 'stale-quantity':
      if (line) throw staleQuantityForLine({ details: { current: quantity, line } })
      throw staleQuantity({ details: { current: quantity, ...details } })
    case 'above-limit':
      throw quantityAboveLimit({ details })
    default:
      refuseKey(refusal)
  }
}
