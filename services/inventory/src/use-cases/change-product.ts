import type { InventoryDeps } from '../deps.ts'
import { invalid } from '../error-vocabulary.ts'
import { duplicateSku, preconditionFailed, productNotFound } from '../errors.ts'
import type { JsonText } from '../json/json-object.ts'
import { ATTRIBUTES_DEPTH_MAX, ATTRIBUTES_KEYS_MAX } from '../products/attributes.ts'
import { type ChangeProductResult, callChangeProduct, type VersionedChange } from '../products/product-changes.ts'
import { storableAttributes } from '../products/storable-attributes.ts'

export interface ChangeProductInput {
  readonly id: number
  /** Of which the product must have one; undefined takes any. */
  readonly versions: readonly number[] | undefined
  readonly sku?: string | undefined
  readonly attributes?: string | JsonText | undefined
  /** Whether attributes take the place of those that are there, or are a merge patch on them. */
  readonly mode: 'replace' | 'merge'
  /** Who takes turns with others. */
  readonly client: string
}

/**
 * Changes a product in one statement. What changes nothing leaves its version.
 * @throws validationError, productNotFound, preconditionFailed, duplicateSku
 */
export async function changeProduct(
  { lanes, names, config, productWrites }: Pick<InventoryDeps, 'lanes' | 'names' | 'config' | 'productWrites'>,
  { attributes, client, ...input }: ChangeProductInput,
): Promise<VersionedChange> {
  const { maxAttributesBytes: bytesMax } = config
  const text = attributes === undefined ? undefined : storableAttributes(attributes, bytesMax)
  const result = await productWrites.run(
    () => callChangeProduct(lanes, names, { ...input, attributes: text, bytesMax }),
    { client },
  )
  if (result.verdict !== 'done') throw refusals[result.verdict](bytesMax)
  return result.change
}

const refusals: Readonly<Record<Exclude<ChangeProductResult['verdict'], 'done'>, (bytesMax: number) => Error>> = {
  'not-found': () => productNotFound(),
  stale: () => preconditionFailed(),
  'duplicate-sku': () => duplicateSku(),
  'attributes-null': () => patchTo('must not be null'),
  'attributes-bytes': (bytesMax) => patchTo(`must stay at most ${bytesMax} bytes of JSON`),
  'attributes-depth': () => patchTo(`must stay nested at most ${ATTRIBUTES_DEPTH_MAX} levels deep`),
  'attributes-keys': () => patchTo(`must stay at most ${ATTRIBUTES_KEYS_MAX} keys in all`),
}

function patchTo(message: string): Error {
  return invalid([{ path: 'attributes', message }])
}
