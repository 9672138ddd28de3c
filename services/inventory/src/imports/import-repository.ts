import { againWhenLost } from '@trestle/database/again-when-lost.ts'
import { columns } from '@trestle/database/batches/columns.ts'
import { type NumberedRow, orderResults } from '@trestle/database/batches/ordered-results.ts'
import type { Database } from '@trestle/database/connect.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db, InventoryTables, Trx } from '../database.ts'
import type { ImportTurns } from '../rate-limits/turns.ts'
import type { ReadProduct } from './import-record.ts'

/** The database for imports and exports, with the turns of imports. */
export type TransferDatabase = Pick<Database<InventoryTables>, 'db' | 'until'> & ImportTurns

/** The outcome for a product of a file. `exists`: a live product has the SKU and stays as it is. */
export type ImportVerdict = 'created' | 'updated' | 'exists'

/** Whether a product whose SKU comes again keeps its attributes, or gets the attributes of the file. */
export type Existing = 'keep' | 'replace'

interface VerdictRow extends NumberedRow {
  readonly verdict: ImportVerdict
}

/**
 * Stores products in one statement. The verdicts are the same as if the products were stored one after the other. When a SKU
 * comes twice, `replace` stores its last product, and `keep` its first.
 * @throws pg.DatabaseError when PostgreSQL refuses the statement, or when the statement has lost too many conflicts
 */
export async function callImportProducts(
  db: Db,
  products: readonly ReadProduct[],
  existing: Existing,
): Promise<readonly ImportVerdict[]> {
  const statement = sql<VerdictRow>`
    SELECT place::integer AS item, verdict
    FROM ${sql.table('import_products')}(${existing === 'replace'}, ${columns(products, { sku: 'text', attributes: 'text' })})`
  // The caller of an open transaction repeats all of it.
  const { rows } = await (db.isTransaction ? statement.execute(db) : againWhenLost(() => statement.execute(db)))
  return orderResults(products, rows, ({ verdict }) => verdict).map((verdict) => verdict ?? 'exists')
}

const rowsTable = sql.table('import_rows')
const importsTable = sql.table('imports')
/** Joins each row of a file with the live product of its SKU. */
const heldProduct = sql`${sql.table('products')} p ON p.sku = r.sku AND p.deleted_at IS NULL`

/** Adds a staged file without rows. Resolves to its id. @throws Error when the database returns no row */
export async function insertImport(db: Db): Promise<string> {
  const { rows } = await sql<{ id: string }>`INSERT INTO ${importsTable} DEFAULT VALUES RETURNING id`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the import has no id')
  return row.id
}

/** Adds products behind the rows that the file has. Neither locks nor reads products of the service. */
export async function insertImportRows(
  db: Db,
  { id, staged }: { readonly id: string; readonly staged: number },
  products: readonly ReadProduct[],
): Promise<void> {
  const staging = columns(products, { line: 'bigint', sku: 'text', attributes: 'text' })
  await sql`
    WITH touched AS (UPDATE ${importsTable} SET touched_at = now() WHERE id = ${id} RETURNING id)
    INSERT INTO ${rowsTable} (import_id, place, line, sku, attributes)
    SELECT touched.id, ${staged}::bigint + u.place, u.line, u.sku, u.attributes::jsonb
    FROM touched, unnest(${staging}) WITH ORDINALITY AS u (line, sku, attributes, place)`.execute(db)
}

/** How many rows of a file would create or change a product if they were stored one after the other. */
export interface JudgedRows {
  /** All rows of the file. */
  readonly staged: number
  /** Different SKUs of the file. */
  readonly skus: number
  /** Rows whose SKU is free. */
  readonly created: number
  /** Rows with other attributes than the product, or the earlier row, of their SKU. */
  readonly different: number
}

/**
 * Counts the rows of a file by their outcome. Takes no locks, so other requests may change the outcome.
 * @throws Error when the database returns no counts
 */
export async function countImportRows(db: Db, id: string): Promise<JudgedRows> {
  const digest = (attributes: RawBuilder<unknown>) => sql`sha256(convert_to(${attributes}::text, 'UTF8'))`
  const own = digest(sql`r.attributes`)
  const { rows } = await sql<JudgedRows>`
    WITH compared AS (
      SELECT ${own} AS own, ${digest(sql`p.attributes`)} AS held,
        lag(${own}) OVER (PARTITION BY r.sku ORDER BY r.place) AS earlier
      FROM ${rowsTable} r LEFT JOIN ${heldProduct} WHERE r.import_id = ${id}
    )
    SELECT count(*)::float8 AS staged, count(*) FILTER (WHERE earlier IS NULL)::float8 AS skus,
      count(*) FILTER (WHERE coalesce(earlier, held) IS NULL)::float8 AS created,
      count(*) FILTER (WHERE coalesce(earlier, held) <> own)::float8 AS different
    FROM compared`.execute(db)
  const [judged] = rows
  if (judged === undefined) throw new Error('the rows were not counted')
  return judged
}

/** Deletes all rows of a file but those whose SKU is taken, by a product or by an earlier row. */
export async function deleteFreeImportRows(db: Db, id: string): Promise<void> {
  await sql`
    WITH numbered AS (
      SELECT r.place, p.id IS NULL AND row_number() OVER (PARTITION BY r.sku ORDER BY r.place) = 1 AS is_free
      FROM ${rowsTable} r LEFT JOIN ${heldProduct} WHERE r.import_id = ${id}
    )
    DELETE FROM ${rowsTable} r USING numbered n
    WHERE n.is_free AND r.import_id = ${id} AND r.place = n.place`.execute(db)
}

/** A row of a file, as errors name it. */
export interface StagedRow {
  readonly place: number
  readonly line: number
  readonly sku: string
}

/** Rows of a file that come after a place, in their order, at most `limit`. */
export async function listImportRows(
  db: Db,
  id: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly StagedRow[]> {
  const { rows } = await sql<StagedRow>`
    SELECT place::float8, line::float8, sku FROM ${rowsTable}
    WHERE import_id = ${id} AND place > ${after} ORDER BY place LIMIT ${limit}`.execute(db)
  return rows
}

/**
 * Stores the rows of a file in one statement. When a SKU comes twice, `replace` stores its last row, and `keep` its first.
 * New products come first, so existing products are locked for a shorter time. The caller holds the lock of `lockImports`: two
 * files at the same time could deadlock.
 */
export async function upsertImportRows(
  trx: Trx,
  id: string,
  existing: Existing,
): Promise<{ readonly created: number; readonly updated: number }> {
  const replaces = existing === 'replace'
  const onConflict = replaces
    ? sql`DO UPDATE SET attributes = EXCLUDED.attributes, version = p.version + 1, revision = DEFAULT, updated_at = now()
        WHERE p.attributes::text <> EXCLUDED.attributes::text`
    : sql`DO NOTHING`
  const { rows } = await sql<{ created: number; updated: number }>`
    WITH chosen AS (
      SELECT DISTINCT ON (r.sku) r.place, r.sku, r.attributes, p.id AS held, p.attributes::text AS held_attributes
      FROM ${rowsTable} r LEFT JOIN ${heldProduct} WHERE r.import_id = ${id}
      ORDER BY r.sku, r.place ${replaces ? sql`DESC` : sql`ASC`}
    ), written AS (
      INSERT INTO ${sql.table('products')} AS p (sku, attributes)
      SELECT sku, attributes FROM chosen
      WHERE held IS NULL OR (${replaces}::boolean AND held_attributes <> attributes::text)
      ORDER BY held NULLS FIRST, place
      ON CONFLICT (sku) WHERE deleted_at IS NULL ${onConflict}
      RETURNING p.version
    )
    SELECT count(*) FILTER (WHERE version = 1)::float8 AS created,
      count(*) FILTER (WHERE version > 1)::float8 AS updated FROM written`.execute(trx)
  return rows[0] ?? { created: 0, updated: 0 }
}

/**
 * Takes the lock for storing a staged file, until the transaction ends.
 *
 * Lock order: this lock, the products. Two files may name products in opposite orders, so only one is stored at a time.
 */
export async function lockImports(trx: Trx, id: string): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(tableoid::bigint) FROM ${importsTable} WHERE id = ${id}`.execute(trx)
}

/**
 * Deletes a staged file with its rows. Lock order: the file, its rows. Clean-up takes them in this order too, so that the two
 * never wait for each other.
 */
export async function deleteImport(db: Db, id: string): Promise<void> {
  await sql`
    WITH held AS MATERIALIZED (SELECT id FROM ${importsTable} WHERE id = ${id} FOR UPDATE),
      gone AS (DELETE FROM ${rowsTable} r USING held WHERE r.import_id = held.id)
    DELETE FROM ${importsTable} i USING held WHERE i.id = held.id`.execute(db)
}

const deleteOldQuery = prepare(
  'delete_old_import_rows',
  (p: { limit: number }) => sql<{ deleted: number }>`
    WITH stale AS (
      SELECT i.id FROM ${importsTable} i WHERE i.touched_at < now() - interval '1 hour' LIMIT 1 FOR UPDATE SKIP LOCKED
    ), batch AS (
      SELECT import_id, place FROM ${rowsTable} WHERE import_id = (SELECT id FROM stale) ORDER BY place LIMIT ${p.limit}
    ), gone AS (
      DELETE FROM ${rowsTable} r USING batch WHERE r.import_id = batch.import_id AND r.place = batch.place RETURNING 1
    ), ended AS (
      DELETE FROM ${importsTable} i USING stale
      WHERE i.id = stale.id AND (SELECT count(*) FROM gone) < ${p.limit} RETURNING 1
    )
    SELECT (SELECT count(*) FROM gone)::int AS deleted`,
)

/**
 * Deletes rows of files that got no row for an hour, because their process has ended; at most `limit`. Resolves to how many it
 * deleted. Lock order: the file, its rows. Skips a file that another process deletes.
 */
export async function deleteOldImportRows(lanes: Lanes, limit: number): Promise<number> {
  return (await lanes.write.one(deleteOldQuery, { limit })).deleted
}
