import type { Names } from '@trestle/migrations/migration.ts'
import { mergedToNull, mergedTooDeep, mergedTooLarge, mergedTooManyKeys, productInStock } from '../errors.ts'
import { type Answered, type Caller, refuseKey } from '../idempotency/idempotent-request.ts'
import type { JsonText } from '../json/json-object.ts'
import { type Audited, type AuditedChange, auditedAttributes } from '../operators/operator-change.ts'
import { type ChangeDeps, runAuditedChange } from '../operators/operator-change-repository.ts'
import {
  ATTRIBUTES_DEPTH_MAX,
  ATTRIBUTES_KEYS_MAX,
  requireFreeSku,
  requireSameProduct,
  storableAttributes,
} from '../products/product.ts'
import {
  type ChangeProductResult,
  callChangeProduct,
  callDeleteProduct,
  type InsertedProduct,
  insertProduct,
  insertProductOnce,
  type VersionedChange,
} from '../products/product-repository.ts'

type ProductDeps = ChangeDeps & {
  readonly names: Names
  readonly config: { readonly attributesBytesMax: number }
}

export interface CreateProductInput extends Audited {
  readonly caller: Caller
  readonly sku: string
  /** JSON as text, or an object or array. */
  readonly attributes: string | JsonText
}

/**
 * Adds a product. Requests with the same Idempotency-Key add it only once.
 * @throws attributesInvalid if the attributes cannot be stored, duplicateSku if another product has the SKU, keyMismatch if the
 * Idempotency-Key was used for another request, keyRunning while its first request runs
 */
export function createProduct(
  deps: ProductDeps,
  { caller, sku, attributes, operatorChange }: CreateProductInput,
): Promise<Answered<InsertedProduct>> {
  const create = async ({ pools, db, names, config }: ProductDeps): Promise<Answered<InsertedProduct>> => {
    const product = { sku, attributes: storableAttributes(attributes, config.attributesBytesMax) }
    if (!caller.idempotentRequest)
      return { verdict: 'done', body: requireFreeSku(await insertProduct(pools, names, product)) }
    const answer = requireFreeSku(await insertProductOnce(db, names, caller, product))
    if (answer.body === null) refuseKey(answer.verdict)
    return answer
  }
  return runAuditedChange(deps, operatorChange, create, ({ verdict, body }) => {
    if (verdict === 'replayed') return undefined
    return auditProduct('products.change', body.id, { sku, attributes: auditedAttributes(attributes) })
  })
}

export interface ChangeProductInput extends Audited {
  readonly id: number
  /** The expected versions. `undefined` accepts any version. */
  readonly versions: readonly number[] | undefined
  readonly sku?: string | undefined
  readonly attributes?: string | JsonText | undefined
  /** Whether `attributes` replace the stored attributes or are a merge patch for them. */
  readonly mode: 'replace' | 'merge'
}

/**
 * Changes a product in one statement. A change without effect keeps the version and adds no audit log entry.
 * @throws
 * - attributesInvalid if the attributes cannot be stored
 * - productNotFound if the product does not exist
 * - productChanged if the product has another version than the change expects
 * - duplicateSku if another product has the SKU
 * - mergedToNull, mergedTooLarge, mergedTooDeep or mergedTooManyKeys if the attributes cannot be stored after a merge patch
 */
export function changeProduct(
  deps: ProductDeps,
  { attributes, operatorChange, ...input }: ChangeProductInput,
): Promise<VersionedChange> {
  const { id, sku, mode } = input
  const change = async ({ pools, names, config }: ProductDeps) => {
    const { attributesBytesMax: bytesMax } = config
    const text = attributes === undefined ? undefined : storableAttributes(attributes, bytesMax)
    const result = await callChangeProduct(pools, names, { ...input, attributes: text, bytesMax })
    if (result.verdict === 'done') return result.change
    return refuseMerge(requireFreeSku(requireSameProduct(result.verdict)), bytesMax)
  }
  return runAuditedChange(deps, operatorChange, change, ({ changed, version }) => {
    if (!changed) return undefined
    const audited = attributes && auditedAttributes(attributes)
    return auditProduct('products.change', id, { sku, attributes: audited, mode, version })
  })
}

/** Refuses attributes that cannot be stored after a merge patch. */
function refuseMerge(
  refusal: Extract<ChangeProductResult['verdict'], `attributes-${string}`>,
  bytesMax: number,
): never {
  switch (refusal) {
    case 'attributes-null':
      throw mergedToNull()
    case 'attributes-bytes':
      throw mergedTooLarge(bytesMax)
    case 'attributes-depth':
      throw mergedTooDeep(ATTRIBUTES_DEPTH_MAX)
    case 'attributes-keys':
      throw mergedTooManyKeys(ATTRIBUTES_KEYS_MAX)
  }
}

/**
 * Deletes a product. Its row stays, because the ledger refers to it.
 * @throws productNotFound if it does not exist, productChanged if it has another version than the deletion expects,
 * productInStock while stock of it is on hand
 */
export function deleteProduct(
  deps: ChangeDeps & Pick<ProductDeps, 'names'>,
  { operatorChange, ...product }: Audited & Pick<ChangeProductInput, 'id' | 'versions'>,
): Promise<void> {
  const remove = async ({ pools, names }: ChangeDeps & Pick<ProductDeps, 'names'>) => {
    const verdict = requireSameProduct(await callDeleteProduct(pools, names, product))
    if (verdict === 'in-stock') throw productInStock()
  }
  return runAuditedChange(deps, operatorChange, remove, () => auditProduct('products.delete', product.id, {}))
}

function auditProduct(action: AuditedChange['action'], id: number, changes: object): AuditedChange {
  return { action, object: { kind: 'product', id }, productIds: [id], changes }
}
