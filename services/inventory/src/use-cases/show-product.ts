import type { InventoryDeps } from '../deps.ts'
import { productNotFound } from '../errors.ts'
import { findProduct, findProductDetails } from '../products/product-repository.ts'
import { type Include, productDetailsJson, productJson } from '../products/product-view.ts'

/** The JSON of a product, and its version. */
export interface ShownProduct {
  readonly json: string
  readonly version: number
}

/** A live product with the members that `include` names. @throws productNotFound when no live product has the id */
export async function showProduct(
  { lanes }: Pick<InventoryDeps, 'lanes'>,
  id: number,
  includes: readonly Include[],
): Promise<ShownProduct> {
  if (includes.length === 0) {
    const product = await findProduct(lanes, id)
    if (!product) throw productNotFound()
    return { json: productJson(product), version: product.version }
  }
  const product = await findProductDetails(lanes, id)
  if (!product) throw productNotFound()
  return { json: productDetailsJson(product, includes), version: product.version }
}
