import type { InventoryDeps } from '../deps.ts'
import type { JsonText } from '../json/json-object.ts'
import { ATTRIBUTES_DEPTH_MAX, ATTRIBUTES_KEYS_MAX, storableAttributes } from '../products/attributes.ts'
import { requireFreeSku, requireSameProduct } from '../products/product.ts'
import { type ChangeProductResult, callChangeProduct, type VersionedChange } from '../products/product-repository.ts'
import { mergedToNull, mergedTooDeep, mergedTooLarge, mergedTooManyKeys } from '../request-errors.ts'

/** A change of a product. What is undefined stays as it is. */
export interface ChangeProductInput {
  readonly id: number
  /** The versions that the change may be based on; undefined accepts any version. */
  readonly versions: readonly number[] | undefined
  readonly sku?: string | undefined
  readonly attributes?: string | JsonText | undefined
  /** Whether `attributes` replace the stored ones, or are a merge patch on them. */
  readonly mode: 'replace' | 'merge'
}

/**
 * Changes a product in one statement. A change that alters nothing keeps the version.
 * @throws
 * - attributesInvalid for attributes that cannot be stored
 * - productNotFound when no live product has the id
 * - productChanged when the product has another version than the change is based on
 * - duplicateSku when another product has the SKU
 * - mergedToNull, mergedTooLarge, mergedTooDeep or mergedTooManyKeys for what a merge patch would make of the attributes
 */
export async function changeProduct(
  { lanes, names, config }: Pick<InventoryDeps, 'lanes' | 'names' | 'config'>,
  { attributes, ...input }: ChangeProductInput,
): Promise<VersionedChange> {
  const { attributesBytesMax: bytesMax } = config
  const text = attributes === undefined ? undefined : storableAttributes(attributes, bytesMax)
  const result = await callChangeProduct(lanes, names, { ...input, attributes: text, bytesMax })
  if (result.verdict === 'done') return result.change
  const current = requireSameProduct(result.verdict)
  const refusal = requireFreeSku(current)
  refuseMerge(refusal, bytesMax)
}

/** Why attributes cannot be stored after a merge patch. */
type MergeRefusal = Extract<ChangeProductResult['verdict'], `attributes-${string}`>

function refuseMerge(refusal: MergeRefusal, bytesMax: number): never {
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
