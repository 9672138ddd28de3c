import type { InventoryDeps } from '../deps.ts'
import { preconditionFailed, productInStock, productNotFound } from '../errors.ts'
import { callDeleteProduct } from '../products/product-changes.ts'

/**
 * Takes a product out of the API; its row stays for what points at it.
 * @param versions of which the product must have one; undefined takes any
 * @throws productNotFound, preconditionFailed, productInStock
 */
export async function deleteProduct(
  { lanes, names, productWrites }: Pick<InventoryDeps, 'lanes' | 'names' | 'productWrites'>,
  id: number,
  versions: readonly number[] | undefined,
): Promise<void> {
  const verdict = await productWrites.run(() => callDeleteProduct(lanes, names, { id, versions }))
  if (verdict === 'not-found') throw productNotFound()
  if (verdict === 'stale') throw preconditionFailed()
  if (verdict === 'in-stock') throw productInStock()
}
