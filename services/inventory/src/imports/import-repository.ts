import { againWhenLost } from '@trestle/database/again-when-lost.ts'
import { columns } from '@trestle/database/batches/columns.ts'
import { type NumberedRow, orderResults } from '@trestle/database/batches/ordered-results.ts'
import { type Kysely, sql } from 'kysely'
import type { InventoryTables } from '../database.ts'
import type { ReadProduct } from './import-record.ts'

/** What became of a product of a file; `exists`: a live product has the sku, and stays as it is. */
export type ImportVerdict = 'created' | 'updated' | 'exists'

interface VerdictRow extends NumberedRow {
  readonly verdict: ImportVerdict
}

/**
 * Stores products in one statement, and tells what became of each as if they were stored one after the other: of a sku that comes
 * twice the last is stored, or the first where products stay as they are.
 * @param replace whether a product of the same sku gets the attributes
 */
export async function storeBatch(
  db: Kysely<InventoryTables>,
  products: readonly ReadProduct[],
  replace: boolean,
): Promise<readonly ImportVerdict[]> {
  const statement = sql<VerdictRow>`
    SELECT place::integer AS item, verdict
    FROM ${sql.table('import_products')}(${replace}, ${columns(products, { sku: 'text', attributes: 'text' })})`
  const { rows } = await againWhenLost(() => statement.execute(db))
  return orderResults(products, rows, ({ verdict }) => verdict).map((verdict) => verdict ?? 'exists')
}
