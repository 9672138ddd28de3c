import type { InventoryDeps } from '../deps.ts'
import type { Answered } from '../idempotency/answer.ts'
import { auditedAttributes } from '../operators/audited-values.ts'
import type { OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import type { InsertedProduct } from '../products/product-repository.ts'
import { type CreateProductInput, createProduct } from './create-product.ts'

/** A product that an operator adds. */
export interface CreateProductAsOperatorInput extends CreateProductInput {
  readonly change: OperatorChange
}

/**
 * Adds a product as `createProduct` does, in one transaction with its entry in the audit log.
 * @throws attributesInvalid, duplicateSku, keyMismatch, keyRunning, each as `createProduct` says
 */
export function createProductAsOperator(
  { db, names, config }: Pick<InventoryDeps, 'db' | 'names' | 'config'>,
  { change, ...product }: CreateProductAsOperatorInput,
): Promise<Answered<InsertedProduct>> {
  return runOperatorChange(db, change, async (own) => {
    const made = await createProduct({ ...own, names, config }, product)
    if (made.verdict === 'replayed') return { made, audited: undefined }
    const { id } = made.body
    const object = { kind: 'product', id } as const
    const changes = { sku: product.sku, attributes: auditedAttributes(product.attributes) }
    return { made, audited: { action: 'products.change', object, productIds: [id], changes } }
  })
}
