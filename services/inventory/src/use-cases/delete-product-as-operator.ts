import type { InventoryDeps } from '../deps.ts'
import type { OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { type DeleteProductInput, deleteProduct } from './delete-product.ts'

/**
 * Deletes a product as `deleteProduct` does, in one transaction with its entry in the audit log.
 * @throws productNotFound, productChanged, productInStock, each as `deleteProduct` says
 */
export function deleteProductAsOperator(
  { db, names }: Pick<InventoryDeps, 'db' | 'names'>,
  change: OperatorChange,
  product: DeleteProductInput,
): Promise<void> {
  return runOperatorChange(db, change, async (own) => {
    const made = await deleteProduct({ ...own, names }, product)
    const { id } = product
    const object = { kind: 'product', id } as const
    return { made, audited: { action: 'products.delete', object, productIds: [id], changes: {} } }
  })
}
