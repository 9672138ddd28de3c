import { toAnswerPiece } from '@trestle/common/server/answer-piece.ts'
import { type ControlledTransaction, sql } from 'kysely'
import type { Db, InventoryTables } from '../database.ts'
import { rowsThatFit } from '../products/product.ts'
import { type AttributePath, toJsonPath } from '../products/product-filter.ts'
import { matchingCondition, orderOf, type ProductSelection } from '../products/product-list-repository.ts'
import type { ExportedProduct, ExportForm } from './export-form.ts'

/** The approximate number of characters per fetch. Attributes may have 64 KiB each, and several exports run concurrently. */
const FETCH_LENGTH = 65_536
/** The number of rows of the first fetch, and the maximum of later fetches. */
const [FIRST_ROWS, ROWS_MAX] = [20, 500]

export interface ExportOrder {
  readonly selection: ProductSelection
  readonly flatten: readonly AttributePath[]
  readonly form: ExportForm
}

/** Writes the products of a selection as a file, piece by piece on demand. */
export async function* exportProducts(
  { db }: { readonly db: Db },
  { selection, flatten, form }: ExportOrder,
): AsyncGenerator<Uint8Array, void> {
  if (form.header !== '') yield Buffer.from(form.header)
  for await (const products of streamExport(db, selection, flatten)) {
    yield toAnswerPiece(products.map(form.write))
  }
}

/**
 * Reads all live products of a selection from one snapshot, many per fetch. The generator holds a connection until it ends or
 * `return` is called.
 */
async function* streamExport(
  db: Db,
  selection: ProductSelection,
  flatten: readonly AttributePath[],
): AsyncGenerator<readonly ExportedProduct[], void> {
  const trx = await db.startTransaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute()
  try {
    await declareCursor(trx, selection, flatten)
    for (let count = FIRST_ROWS; ; ) {
      const { rows } = await sql<ExportedRow>`
        FETCH ${sql.lit(count)} FROM exported`.execute(trx)
      if (rows.length === 0) break
      yield rows.map((row) => ({ ...row, id: Number(row.id), rest: row.rest ?? row.attributes }))
      count = rowsThatFit(rows, { characters: FETCH_LENGTH, max: ROWS_MAX })
    }
  } finally {
    await trx.rollback().execute()
  }
}

interface ExportedRow extends Omit<ExportedProduct, 'id' | 'rest'> {
  readonly id: bigint
  /** `null` if no value has a separate column. Otherwise all attributes would be read twice. */
  readonly rest: string | null
}

async function declareCursor(
  trx: ControlledTransaction<InventoryTables>,
  selection: ProductSelection,
  flatten: readonly AttributePath[],
): Promise<void> {
  const found = flatten.map(
    (path) => sql`jsonb_path_query_first(attributes, ${toJsonPath(path)}::jsonpath, '{}', true)`,
  )
  const flattened = found.map((value) => sql`${value}::text`)
  // Remove a value only if the path exists. Otherwise `#-` would use a key as an index of an array.
  const rest = found.reduce(
    (left, value, at) => sql`${left} #- CASE WHEN ${value} IS NULL THEN '{}' ELSE ${flatten[at]}::text[] END`,
    sql`attributes`,
  )
  await sql`
    DECLARE exported NO SCROLL CURSOR FOR
    SELECT id, sku, attributes::text AS attributes, ARRAY[${sql.join(flattened)}]::text[] AS flattened,
      ${flatten.length === 0 ? sql`NULL` : sql`CASE WHEN jsonb_typeof(attributes) = 'object' THEN ${rest} ELSE attributes END`}::text AS rest
    FROM ${sql.table('products')} WHERE ${matchingCondition(selection.filters)} ORDER BY ${orderOf(selection.sort)}`.execute(
    trx,
  )
}
