import type { InventoryDeps } from '../deps.ts'
import { productInStock } from '../errors.ts'
import { requireSameProduct } from '../products/product.ts'
import { callDeleteProduct } from '../products/product-repository.ts'

/** The product to delete, and the versions on which the deletion may be based. */
export interface DeleteProductInput {
  readonly id: number
  /** The versions that the deletion may be based on; undefined accepts any version. */
  readonly versions: readonly number[] | undefined
}

/**
 * Deletes a product. Its row stays, because the ledger refers to it.
 * @throws productNotFound when no live product has the id, productChanged when it has another version than the deletion is
 * based on, productInStock while some of it is on hand
 */
export async function deleteProduct(
  { lanes, names }: Pick<InventoryDeps, 'lanes' | 'names'>,
  input: DeleteProductInput,
): Promise<void> {
  const verdict = requireSameProduct(await callDeleteProduct(lanes, names, input))
  if (verdict === 'in-stock') throw productInStock()
}
