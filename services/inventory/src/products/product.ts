import type { HttpErrorOptions } from '@trestle/common/errors/define-error.ts'
import { duplicateSku, productChanged, productNotFound } from '../errors.ts'

/** The members of a product that every answer shows. */
export interface Product {
  readonly id: number
  readonly sku: string
  /** JSON text of any value but null, as PostgreSQL prints it, with every digit of its numbers. */
  readonly attributes: string
}

/** A product with its version, which starts at 1 and grows by one with each change. */
export interface VersionedProduct extends Product {
  readonly version: number
}

/** A product with the members that `include` may ask for. */
export interface ProductDetails extends VersionedProduct {
  readonly createdAt: Date
  readonly updatedAt: Date
  /** JSON text: the quantities on hand, reserved and available, summed over all locations. */
  readonly stock: string
}

/** A product of a list. A short list leaves out long attributes. */
export interface ListedDetails extends Omit<ProductDetails, 'attributes'> {
  /** JSON text as in `Product`. Null: they are longer than a short list shows. */
  readonly attributes: string | null
  /** How long attributes are that were left out, in bytes of JSON text. */
  readonly attributesBytes?: number
}

/** The SKU and the attributes of a new product. */
export interface NewProduct {
  readonly sku: string
  /** JSON text that `checkAttributes` has accepted. */
  readonly attributes: string
}

/**
 * Requires that a query has found a live product, or that the verdict of a SQL function does not say that there is none.
 * @param details what the error says beside its text, such as the line of a batch
 * @returns `found` as it is
 * @throws productNotFound
 */
export function requireProduct<Found>(
  found: Found | 'not-found' | 'product-not-found' | undefined,
  details: HttpErrorOptions['details'] = {},
): Found {
  if (found === undefined || found === 'not-found' || found === 'product-not-found') throw productNotFound({ details })
  return found
}

/**
 * The verdict of a change or deletion that may be based on certain versions only.
 * @throws productNotFound when there is no such product, productChanged when it has another version
 */
export function requireSameProduct<Found>(found: Found | 'not-found' | 'stale'): Found {
  const current = requireProduct(found)
  if (current === 'stale') throw productChanged()
  return current
}

/**
 * The verdict on a write of a SKU, or what was written.
 * @throws duplicateSku when another product has the SKU
 */
export function requireFreeSku<Written>(written: Written | 'duplicate-sku'): Written {
  if (written === 'duplicate-sku') throw duplicateSku()
  return written
}

/** How many products fit in so many characters, if their attributes are as long as the attributes of `products`: 1 to `max`. */
export function rowsThatFit(
  products: readonly Pick<ListedDetails, 'attributes'>[],
  { characters, max }: { readonly characters: number; readonly max: number },
): number {
  if (products.length === 0) return max
  const length = products.reduce((sum, { attributes }) => sum + (attributes?.length ?? 0), 0)
  return Math.max(1, Math.min(max, Math.floor((characters * products.length) / length)))
}
