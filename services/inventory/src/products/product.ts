/** A product as the API shows it. */
export interface Product {
  readonly id: number
  readonly sku: string
  /** JSON text, any value but null, as the database prints it: every number in full. */
  readonly attributes: string
}

/** A product with the number of its version: 1 when made, one more with each change. */
export interface VersionedProduct extends Product {
  readonly version: number
}

/** A product with all that can be shown of it. */
export interface ProductDetails extends VersionedProduct {
  readonly createdAt: Date
  readonly updatedAt: Date
  /** JSON text: what of it is on hand, reserved and available, over all locations. */
  readonly stock: string
}

/** What a new product is made of. */
export interface NewProduct {
  readonly sku: string
  /** JSON text that `checkAttributes` has accepted. */
  readonly attributes: string
}

/** How many products with as long attributes as these have so many characters together: at least one, at most `max`. */
export function rowsThatFit(
  products: readonly Pick<Product, 'attributes'>[],
  { characters, max }: { readonly characters: number; readonly max: number },
): number {
  if (products.length === 0) return max
  const length = products.reduce((sum, { attributes }) => sum + attributes.length, 0)
  return Math.max(1, Math.min(max, Math.floor((characters * products.length) / length)))
}
