import type { InventoryDeps } from '../deps.ts'
import { preconditionFailed, productInStock, productNotFound } from '../errors.ts'
import { callDeleteProduct } from '../products/product-changes.ts'

export interface DeleteProductInput {
  readonly id: number
  /** Of which the product must have one; undefined takes any. */
  readonly versions: readonly number[] | undefined
  /** Who takes turns with others. */
  readonly client: string
}

/**
 * Takes a product out of the API; its row stays for what points at it.
 * @throws productNotFound, preconditionFailed, productInStock
 */
export async function deleteProduct(
  { lanes, names, productWrites }: Pick<InventoryDeps, 'lanes' | 'names' | 'productWrites'>,
  { client, ...product }: DeleteProductInput,
): Promise<void> {
  const verdict = await productWrites.run(() => callDeleteProduct(lanes, names, product), { client })
  if (verdict === 'not-found') throw productNotFound()
  if (verdict === 'stale') throw preconditionFailed()
  if (verdict === 'in-stock') throw productInStock()
}
