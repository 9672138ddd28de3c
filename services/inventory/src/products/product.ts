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

/** What a new product is made of. */
export interface NewProduct {
  readonly sku: string
  /** JSON text that `checkAttributes` has accepted. */
  readonly attributes: string
}
