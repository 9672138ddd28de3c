import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { ReadProduct } from './import-record.ts'

/** What became of a product of a file; `exists`: a live product has the sku, and stays as it is. */
export type ImportVerdict = 'created' | 'updated' | 'exists'

interface Batch {
  readonly replace: boolean
  readonly skus: readonly string[]
  readonly attributes: readonly string[]
}

interface VerdictRow {
  readonly place: bigint
  readonly verdict: ImportVerdict
}

function batchStatement({ replace, skus, attributes }: Batch): RawBuilder<VerdictRow> {
  return sql`SELECT place, verdict FROM ${sql.table('import_products')}(${replace}, ${skus}::text[], ${attributes}::text[])`
}

const batchQuery = prepare('import_products', batchStatement)

/**
 * Stores products in their order, in one statement; what is stored stays.
 * @param replace whether a product of the same sku gets the attributes
 */
export async function storeBatch(
  lanes: Lanes,
  products: readonly ReadProduct[],
  replace: boolean,
): Promise<readonly ImportVerdict[]> {
  const batch = {
    replace,
    skus: products.map(({ sku }) => sku),
    attributes: products.map(({ attributes }) => attributes),
  }
  const rows = await lanes.write.all(batchQuery, batch)
  const verdicts = new Map(rows.map(({ place, verdict }) => [Number(place), verdict]))
  return products.map((_, at) => verdicts.get(at + 1) ?? 'exists')
}
