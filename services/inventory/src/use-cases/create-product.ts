import type { InventoryDeps } from '../deps.ts'
import type { Answered } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import { refuseKey } from '../idempotency/refuse-key.ts'
import type { JsonText } from '../json/json-object.ts'
import { storableAttributes } from '../products/attributes.ts'
import { requireFreeSku } from '../products/product.ts'
import { type InsertedProduct, insertProduct, insertProductOnce } from '../products/product-repository.ts'

/** A product to create, as the client wrote it. */
export interface CreateProductInput {
  readonly caller: Caller
  readonly sku: string
  /** JSON as text, or an object or array. */
  readonly attributes: string | JsonText
}

/**
 * Adds a product; with an Idempotency-Key once, however often the request comes.
 * @throws attributesInvalid for attributes that cannot be stored, duplicateSku when another product has the SKU, keyMismatch when
 * the Idempotency-Key was used for another request, keyRunning while its first request runs
 */
export async function createProduct(
  { lanes, db, names, config }: Pick<InventoryDeps, 'lanes' | 'db' | 'names' | 'config'>,
  { caller, sku, attributes }: CreateProductInput,
): Promise<Answered<InsertedProduct>> {
  const product = { sku, attributes: storableAttributes(attributes, config.attributesBytesMax) }
  if (!caller.repeat) return { verdict: 'done', body: requireFreeSku(await insertProduct(lanes, names, product)) }
  const answer = requireFreeSku(await insertProductOnce(db, names, caller, product))
  if (answer.body === null) refuseKey(answer.verdict)
  return answer
}
