import type { InventoryDeps } from '../deps.ts'
import { productInStock } from '../errors.ts'
import { requireSameProduct } from '../products/product.ts'
import { callDeleteProduct } from '../products/product-repository.ts'

/** Which product to delete, on which versions the deletion may be based, and for whom. */
export interface DeleteProductInput {
  readonly id: number
  /** The versions that the deletion may be based on; undefined accepts any version. */
  readonly versions: readonly number[] | undefined
  /** Names the client, which waits for its turn. */
  readonly client: string
}

/**
 * Deletes a product. Its row stays, because the ledger refers to it.
 * @throws productNotFound when no live product has the id, productChanged when it has another version than the deletion is
 * based on, productInStock while some of it is on hand, serviceUnavailable when the turn of the client does not come in time
 */
export async function deleteProduct(
  { lanes, names, productWrites }: Pick<InventoryDeps, 'lanes' | 'names' | 'productWrites'>,
  { client, ...product }: DeleteProductInput,
): Promise<void> {
  const answer = await productWrites.run(() => callDeleteProduct(lanes, names, product), { client })
  const verdict = requireSameProduct(answer)
  if (verdict === 'in-stock') throw productInStock()
}
