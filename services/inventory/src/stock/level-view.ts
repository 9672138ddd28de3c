import { z } from 'zod'
import { QUANTITY_MAX } from './level.ts'

/** A quantity on the wire. */
export const QuantityView = z.int().min(0).max(QUANTITY_MAX)

/** A level on the wire, as the SQL function `level_json` makes it. */
export const LevelView = z
  .object({
    productId: z.int().min(1),
    locationId: z.int().min(1),
    onHand: QuantityView,
    reserved: QuantityView,
    available: QuantityView,
    updatedAt: z.iso.datetime().nullable().meta({ description: 'null where there was never any' }),
  })
  .meta({ id: 'Level' })

export type Level = z.infer<typeof LevelView>

/** What there is of a product: the sums over all locations, and each of them. */
export const ProductStockView = z
  .object({
    productId: z.int().min(1),
    ...{ onHand: z.int().min(0), reserved: z.int().min(0), available: z.int().min(0) },
    locations: z.array(LevelView),
  })
  .meta({ id: 'ProductStock' })

export type ProductStock = z.infer<typeof ProductStockView>
