import type { Lanes } from '@trestle/database/lanes.ts'
import type { InventoryDeps } from '../deps.ts'
import { requireProduct } from '../products/product.ts'
import { findProduct, findProductDetails } from '../products/product-repository.ts'
import { type Include, productDetailsJson, productJson } from '../products/product-view.ts'

/** The JSON of a product, and its version. */
export interface ShownProduct {
  readonly json: string
  readonly version: number
}

/** A product, and the members of its JSON that a client asks for. */
export interface ShowProductInput {
  readonly id: number
  readonly includes: readonly Include[]
}

/** A live product with the members that `include` names. @throws productNotFound when no live product has the id */
export async function showProduct(
  { lanes }: Pick<InventoryDeps, 'lanes'>,
  { id, includes }: ShowProductInput,
): Promise<ShownProduct> {
  return requireProduct(includes.length === 0 ? await showPlain(lanes, id) : await showDetails(lanes, id, includes))
}

async function showPlain(lanes: Lanes, id: number): Promise<ShownProduct | undefined> {
  const product = await findProduct(lanes, id)
  return product && { json: productJson(product), version: product.version }
}

async function showDetails(lanes: Lanes, id: number, includes: readonly Include[]): Promise<ShownProduct | undefined> {
  const product = await findProductDetails(lanes, id)
  return product && { json: productDetailsJson(product, includes), version: product.version }
}
