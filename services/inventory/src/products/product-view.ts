import { z } from 'zod'
import type { ListedDetails, Product } from './product.ts'

/** A product in an answer, with what `include` asked for. */
export const ProductView = z
  .object({
    id: z.int().min(1).meta({ description: 'The id of the product' }),
    sku: z.string().max(255).meta({ description: 'The name that its owner gives it' }),
    attributes: z.unknown().meta({
      description: 'Any JSON value but null. Numbers keep every digit',
      examples: [{ color: 'red', price: 19.9 }],
    }),
    createdAt: z.iso.datetime().optional().meta({ description: 'Present with include=meta' }),
    updatedAt: z.iso.datetime().optional().meta({ description: 'Present with include=meta' }),
    version: z.int().min(1).optional().meta({ description: 'Present with include=meta' }),
    stock: z
      .object({
        onHand: z.int().min(0).meta({ description: 'The quantity at all locations, reserved or not' }),
        reserved: z.int().min(0).meta({ description: 'How much of it is reserved' }),
        available: z.int().min(0).meta({ description: 'What is on hand and not reserved' }),
      })
      .optional()
      .meta({ id: 'StockTotals', description: 'The stock over all locations. Present with include=stock' }),
  })
  .meta({ id: 'Product' })

/** A product in a list. In a short list `attributes` may be null. */
export const ListedProductView = ProductView.extend({
  attributesBytes: z.int().min(1).optional().meta({
    description:
      'How long the attributes are, in bytes of JSON. Present with attributes=short where attributes is null, because they are longer than 4096 bytes',
  }),
}).meta({ id: 'ListedProduct' })

/** The words that the parameter `include` may have. */
export const INCLUDES = ['meta', 'stock'] as const
/** A part that a product can be shown with, by the parameter `include`. */
export type Include = (typeof INCLUDES)[number]

/** The record in the answer to POST /products. */
export const ProductCreatedView = z
  .object({
    id: z.int().min(1).meta({ description: 'The id of the new product' }),
    message: z.string().meta({ description: 'What was done, for people' }),
  })
  .meta({ id: 'ProductCreated', examples: [{ id: 6, message: 'Product 6 was created.' }] })

/** The JSON of a product. The attributes are text already. Parsing them would lose digits, and cost time. */
export function productJson(product: Product): string {
  return `{${commonMembers(product)}}`
}

/** The JSON of a product with what `include` asks for. */
export function productDetailsJson(product: ListedDetails, includes: readonly Include[]): string {
  const { createdAt, updatedAt, version, stock, attributesBytes } = product
  const size = attributesBytes === undefined ? '' : `,"attributesBytes":${attributesBytes}`
  const meta = `,"createdAt":"${createdAt.toISOString()}","updatedAt":"${updatedAt.toISOString()}","version":${version}`
  const asked = (includes.includes('meta') ? meta : '') + (includes.includes('stock') ? `,"stock":${stock}` : '')
  return `{${commonMembers(product)}${size}${asked}}`
}

function commonMembers({ id, sku, attributes }: Pick<ListedDetails, 'id' | 'sku' | 'attributes'>): string {
  return `"id":${id},"sku":${JSON.stringify(sku)},"attributes":${attributes}`
}

/** The JSON that confirms a new product. */
export function productCreatedJson(id: number): string {
  return `{"id":${id},"message":"Product ${id} was created."}`
}
