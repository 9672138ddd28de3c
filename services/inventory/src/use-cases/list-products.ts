import type { InventoryDeps } from '../deps.ts'
import type { Position } from '../paging/cursor.ts'
import { positionById } from '../paging/page-query.ts'
import { type ProductPage, type ProductSelection, selectProducts } from '../products/product-list.ts'
import { listProductsById } from '../products/product-repository.ts'
import { type Include, productDetailsJson, productJson } from '../products/product-view.ts'

/** A product of a list as it is sent, and its place there. */
export interface ListedProductJson {
  readonly json: string
  readonly position: Position
}

/**
 * Products of one page. The plain list by id has a statement of its own that is prepared once; anything else is planned for
 * the values that it holds.
 */
export async function listProducts(
  { lanes, readLagging }: Pick<InventoryDeps, 'lanes' | 'readLagging'>,
  {
    includes,
    signal,
    ...selection
  }: ProductSelection & { readonly includes: readonly Include[]; readonly signal: AbortSignal },
  page: ProductPage,
): Promise<ListedProductJson[]> {
  if (selection.filters.length === 0 && selection.sort === 'id' && includes.length === 0) {
    const products = await listProductsById(lanes, Number(page.after?.[0] ?? 0), page.limit)
    return products.map((product) => ({ json: productJson(product), position: positionById(product) }))
  }
  const products = await readLagging((db) => selectProducts(db, selection, page), signal)
  return products.map((product) => ({ json: productDetailsJson(product, includes), position: product.position }))
}
