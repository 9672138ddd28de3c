import type { InventoryDeps } from '../deps.ts'
import { auditedAttributes } from '../operators/audited-values.ts'
import type { OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import type { VersionedChange } from '../products/product-repository.ts'
import { type ChangeProductInput, changeProduct } from './change-product.ts'

/** A change of a product by an operator. */
export interface ChangeProductAsOperatorInput extends ChangeProductInput {
  readonly change: OperatorChange
}

/**
 * Changes a product as `changeProduct` does, in one transaction with its entry in the audit log. A change
 * that alters nothing has no entry.
 * @throws attributesInvalid, productNotFound, productChanged, duplicateSku, mergedToNull, mergedTooLarge, mergedTooDeep,
 * mergedTooManyKeys, each as `changeProduct` says
 */
export function changeProductAsOperator(
  { db, names, config }: Pick<InventoryDeps, 'db' | 'names' | 'config'>,
  { change, ...input }: ChangeProductAsOperatorInput,
): Promise<VersionedChange> {
  return runOperatorChange(db, change, async (own) => {
    const made = await changeProduct({ ...own, names, config }, input)
    if (!made.changed) return { made, audited: undefined }
    const { id, sku, attributes: sent, mode } = input
    const attributes = sent && auditedAttributes(sent)
    const changes = { sku, attributes, mode, version: made.version }
    return { made, audited: { action: 'products.change', object: { kind: 'product', id }, productIds: [id], changes } }
  })
}
