import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { violatedConstraint } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { sql } from 'kysely'
import type { VersionedProduct } from './product.ts'

/** What is to become of a product; undefined leaves a member as it is. */
export interface ProductChange {
  readonly id: number
  readonly versions: readonly number[] | undefined
  readonly sku?: string | undefined
  readonly attributes: string | undefined
  readonly mode: 'replace' | 'merge'
  /** Bound of what a merge leads to. */
  readonly bytesMax: number
}

/** A product after a call, and whether the call changed it. */
export interface VersionedChange extends VersionedProduct {
  readonly changed: boolean
}

export type ChangeProductResult =
  | { readonly verdict: 'done'; readonly change: VersionedChange }
  | { readonly verdict: ChangeRefusal | 'duplicate-sku' }

type ChangeRefusal =
  | 'not-found'
  | 'stale'
  | 'attributes-null'
  | 'attributes-bytes'
  | 'attributes-depth'
  | 'attributes-keys'

type ChangeRow =
  | { readonly verdict: ChangeRefusal }
  | {
      readonly verdict: 'done'
      readonly changed: boolean
      readonly new_sku: string
      readonly new_attributes: string
      readonly new_version: number
    }

const changeQuery = prepare(
  'change_product',
  (p: ProductChange) => sql<ChangeRow>`
  SELECT * FROM ${sql.table('change_product')}(${p.id}::bigint, ${p.versions}::integer[], ${p.sku}, ${p.attributes}::jsonb,
    ${p.mode} = 'merge', ${p.bytesMax}::integer)`,
)

const deleteQuery = prepare(
  'delete_product',
  (p: { id: number; versions: readonly number[] | undefined }) => sql<{ verdict: DeleteProductVerdict }>`
  SELECT * FROM ${sql.table('delete_product')}(${p.id}::bigint, ${p.versions}::integer[])`,
)

/** Changes a live product. Its version is compared under the row's lock. */
export async function callChangeProduct(
  lanes: Lanes,
  names: Names,
  change: ProductChange,
): Promise<ChangeProductResult> {
  try {
    const row = await lanes.write.one(changeQuery, change)
    if (row.verdict !== 'done') return row
    const { changed, new_sku: sku, new_attributes: attributes, new_version: version } = row
    return { verdict: 'done', change: { id: change.id, sku, attributes, version, changed } }
  } catch (error) {
    if (violatedConstraint(error, names) === 'products_sku_key') return { verdict: 'duplicate-sku' }
    throw error
  }
}

export type DeleteProductVerdict = 'done' | 'not-found' | 'stale' | 'in-stock'

/** Marks a live product as deleted, unless there is stock of it. */
export async function callDeleteProduct(
  lanes: Lanes,
  names: Names,
  product: { readonly id: number; readonly versions: readonly number[] | undefined },
): Promise<DeleteProductVerdict> {
  try {
    return (await lanes.write.one(deleteQuery, product)).verdict
  } catch (error) {
    if (violatedConstraint(error, names) === 'products_stock_check') return 'in-stock'
    throw error
  }
}
