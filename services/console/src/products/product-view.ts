import { z } from 'zod'
import { enveloped } from '../service-calls/operator-calls.ts'

/** A product with its version, its times and its total stock (inventory reference: Products). */
const Product = z.looseObject({
  id: z.int(),
  sku: z.string(),
  /** `parseJson` has read the numbers, so they keep their digits. */
  attributes: z.unknown(),
  version: z.int(),
  createdAt: z.string(),
  updatedAt: z.string(),
  stock: z.looseObject({ onHand: z.int(), reserved: z.int(), available: z.int() }),
})
export type Product = z.infer<typeof Product>

/** A product in a list. Long attributes are `null`, and `attributesBytes` has their length as JSON. */
const ListedProduct = Product.extend({ attributesBytes: z.int().optional() })
export type ListedProduct = z.infer<typeof ListedProduct>

export const ProductsView: z.ZodType<readonly ListedProduct[]> = enveloped(z.array(ListedProduct))
export const ProductView: z.ZodType<Product> = enveloped(Product)
export const PRODUCT_INCLUDE = 'meta,stock'
/** The query for lists of products. A page of complete attributes could be too large for the console. */
export const PRODUCTS_SHOWN = { include: PRODUCT_INCLUDE, attributes: 'short' } as const

export const ProductCreatedView: z.ZodType<{ readonly id: number }> = enveloped(z.looseObject({ id: z.int() }))

const AuditEntry = z.looseObject({
  id: z.int(),
  created: z.string(),
  action: z.string(),
  actor: z.looseObject({ email: z.string() }),
  role: z.string(),
  changes: z.record(z.string(), z.unknown()),
})
/** A change by an operator (console reference: Audit of operators). */
export type AuditEntry = z.infer<typeof AuditEntry>
export const AuditView: z.ZodType<readonly AuditEntry[]> = enveloped(z.array(AuditEntry))

export function productPath(id: number): string {
  return `/products/${id}`
}

/** A level with SKU and location code (inventory reference: Stock levels). Quantities are in units of the product. */
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
export type Level = z.infer<typeof Level>
export const LevelsView: z.ZodType<readonly Level[]> = enveloped(z.array(Level))

/** The movements that operators can make (inventory reference: Movements). */
export type MovementType = 'receive' | 'count' | 'transfer' | 'ship' | 'adjust'

/** Returns the path of the form for a movement, with the known values. */
export function movePath(
  type: MovementType,
  known: { readonly productId?: number; readonly locationId?: number } = {},
): string {
  const query = new URLSearchParams({ type })
  if (known.productId !== undefined) query.set('product', String(known.productId))
  if (known.locationId !== undefined) query.set('location', String(known.locationId))
  return `/movements/new?${query}`
}
