import { z } from 'zod'

/** Paths of inventory that several pages call. */
export const INVENTORY = { products: '/products', stock: '/stock', locations: '/locations' } as const

/** Reads what stands in the envelope of inventory (inventory reference: Envelopes). */
export function enveloped<T>(schema: z.ZodType<T>): z.ZodType<T> {
  return z.object({ data: schema }).transform(({ data }) => data)
}

/** The id of a record of inventory, in the address of a page. */
export const RecordId: z.ZodType<number, unknown> = z.coerce.number().pipe(z.int().min(1))

/** An id that a filter may name. Empty: none. */
export const OptionalId: z.ZodType<number | undefined, unknown> = z.preprocess(
  (value) => (value === '' ? undefined : value),
  RecordId.optional(),
)

/** The `If-Match` of a product at a version (inventory reference: Entity tags). */
export function productTag(id: number, version: number | string | undefined): string {
  return `"p${id}-${version}"`
}
