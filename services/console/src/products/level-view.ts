import { z } from 'zod'
import { enveloped } from '../service-calls/inventory-answer.ts'

/** A level with the names that people use (inventory reference: Stock levels). Quantities are units of the product. */
const Level = z.looseObject({
  productId: z.int(),
  locationId: z.int(),
  onHand: z.int(),
  reserved: z.int(),
  available: z.int(),
  updatedAt: z.string().nullable(),
  sku: z.string(),
  location: z.string(),
})
/** The stock of a product at a location. */
export type Level = z.infer<typeof Level>
/** A page of levels. */
export const LevelsView: z.ZodType<readonly Level[]> = enveloped(z.array(Level))

/** A movement that an operator makes (inventory reference: Movements). */
export type MovementType = 'receive' | 'count' | 'transfer' | 'ship' | 'adjust'

/** Returns the path of the form for a movement, with the values that are known of it. */
export function movePath(
  type: MovementType,
  known: { readonly productId?: number; readonly locationId?: number } = {},
): string {
  const query = new URLSearchParams({ type })
  if (known.productId !== undefined) query.set('product', String(known.productId))
  if (known.locationId !== undefined) query.set('location', String(known.locationId))
  return `/movements/new?${query}`
}
