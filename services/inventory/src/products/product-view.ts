import { z } from 'zod'
import type { Product } from './product.ts'

/** A product on the wire. */
export const ProductView = z
  .object({
    id: z.int().min(1),
    sku: z.string().max(255),
    attributes: z.unknown().meta({ description: 'Any JSON value but null; numbers keep every digit' }),
  })
  .meta({ id: 'Product' })

/** What POST /products answers. */
export const ProductCreatedView = z
  .object({ id: z.int().min(1), message: z.string() })
  .meta({ id: 'ProductCreated', examples: [{ id: 6, message: 'Product 6 was created.' }] })

/** The JSON of a product. The attributes go through as the text they are: parsing them would lose digits, and time. */
export function productJson({ id, sku, attributes }: Product): string {
  return `{"id":${id},"sku":${JSON.stringify(sku)},"attributes":${attributes}}`
}

/** The JSON that confirms a new product. */
export function productCreatedJson(id: number): string {
  return `{"id":${id},"message":"Product ${id} was created."}`
}
