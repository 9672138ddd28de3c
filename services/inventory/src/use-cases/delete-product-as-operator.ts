import type { InventoryDeps } from '../deps.ts'
import type { OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { type DeleteProductInput, deleteProduct } from './delete-product.ts'

/** A product that an operator deletes. */
export interface DeleteProductAsOperatorInput extends DeleteProductInput {
  readonly change: OperatorChange
}

/**
 * Deletes a product as `deleteProduct` does, in one transaction with its entry in the audit log.
 * @throws productNotFound, productChanged, productInStock, each as `deleteProduct` says
 */
export function deleteProductAsOperator(
  { db, names }: Pick<InventoryDeps, 'db' | 'names'>,
  { change, ...product }: DeleteProductAsOperatorInput,
): Promise<void> {
  return runOperatorChange(db, change, async (own) => {
    const made = await deleteProduct({ ...own, names }, product)
    const { id } = product
    const object = { kind: 'product', id } as const
    return { made, audited: { action: 'products.delete', object, productIds: [id], changes: {} } }
  })
}
