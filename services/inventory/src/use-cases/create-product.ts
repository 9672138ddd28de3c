import type { InventoryDeps } from '../deps.ts'
import { duplicateSku } from '../errors.ts'
import type { JsonText } from '../json/json-object.ts'
import { insertProduct } from '../products/product-repository.ts'
import { storableAttributes } from '../products/storable-attributes.ts'

export interface CreateProductInput {
  readonly sku: string
  /** JSON as text (the specified form), or an object or array. */
  readonly attributes: string | JsonText
}

export interface CreatedProduct {
  readonly id: number
  readonly version: number
}

/**
 * Adds a product in one statement.
 * @throws validationError for attributes that cannot be stored, duplicateSku when a live product has the sku
 */
export async function createProduct(
  { lanes, names, config }: Pick<InventoryDeps, 'lanes' | 'names' | 'config'>,
  { sku, attributes }: CreateProductInput,
): Promise<CreatedProduct> {
  const text = storableAttributes(attributes, config.maxAttributesBytes)
  const result = await insertProduct(lanes, names, { sku, attributes: text })
  if (result.verdict === 'duplicate-sku') throw duplicateSku()
  return result
}
