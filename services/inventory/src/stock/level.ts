import { z } from 'zod'
import {
  insufficientStock,
  insufficientStockForLine,
  locationInactive,
  quantityAboveLimit,
  staleQuantity,
  staleQuantityForLine,
} from '../errors.ts'
import { type Refused, refuseKey } from '../idempotency/idempotent-request.ts'
import { requireLocation } from '../locations/location.ts'
import { requireProduct } from '../products/product.ts'

export const QUANTITY_MAX = 1_000_000_000_000

/** A quantity as text without leading zeros. */
export const QUANTITY_FORM = /^(?:0|[1-9]\d{0,12})$/

/** A level with less available than this is low, unless a request gives another limit. */
export const LOW_STOCK = 10

export const QuantityView = z.int().min(0).max(QUANTITY_MAX)

/** The JSON of a level, as the SQL function `level_json` returns it. */
export const LevelView = z
  .object({
    productId: z.int().min(1).meta({ description: 'The id of the product' }),
    locationId: z.int().min(1).meta({ description: 'The id of the location' }),
    onHand: QuantityView.meta({ description: 'The quantity at the location, reserved or not' }),
    reserved: QuantityView.meta({ description: 'How much of it is reserved' }),
    available: QuantityView.meta({ description: 'What is on hand and not reserved' }),
    updatedAt: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the level last changed; null for a level that never had stock' }),
  })
  .meta({ id: 'Level' })

export type Level = z.infer<typeof LevelView>

export const PLACE_INCLUDES = ['names'] as const

/** The members that `include=names` adds. */
export const PLACE_NAMES = {
  sku: z.string().max(255).optional().meta({ description: 'The SKU of the product. Present with include=names' }),
  location: z.string().max(64).optional().meta({ description: 'The code of the location. Present with include=names' }),
}

/** The SKU of a product and the code of a location. */
export interface PlaceNames {
  readonly sku: string
  readonly location: string
}

export const ListedLevelView = LevelView.extend(PLACE_NAMES).meta({ id: 'ListedLevel' })

/** The stock of a product: the sums over all locations, and each level. */
export const ProductStockView = z
  .object({
    productId: z.int().min(1).meta({ description: 'The id of the product' }),
    onHand: z.int().min(0).meta({ description: 'The quantity at all locations, reserved or not' }),
    reserved: z.int().min(0).meta({ description: 'How much of it is reserved' }),
    available: z.int().min(0).meta({ description: 'What is on hand and not reserved' }),
    locations: z.array(LevelView).meta({ description: 'The level at each location, by id of the location' }),
  })
  .meta({ id: 'ProductStock' })

export type ProductStock = z.infer<typeof ProductStockView>

/** The reasons for which the SQL function refuses a movement. */
export type MoveRefusal =
  | 'product-not-found'
  | 'location-not-found'
  | 'location-inactive'
  | 'insufficient-stock'
  | 'stale-quantity'
  | 'above-limit'

/** The reasons for which the SQL function refuses a reservation. */
export type ReserveRefusal = Extract<MoveRefusal, 'product-not-found' | 'location-not-found' | 'insufficient-stock'>

/**
 * Refuses a request. `line` is `null` unless the request has several lines. Nothing was changed, so `quantity` is the quantity
 * before the first line.
 * @throws productNotFound, locationNotFound, locationInactive, insufficientStock, staleQuantity or quantityAboveLimit, depending
 * on the verdict; insufficientStockForLine or staleQuantityForLine for a later line, because earlier lines may have changed the
 * quantity; keyMismatch or keyRunning if the Idempotency-Key is refused
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
