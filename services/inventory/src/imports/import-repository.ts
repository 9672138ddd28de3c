import { againWhenLost } from '@trestle/database/again-when-lost.ts'
import { columns, type NumberedRow, orderResults } from '@trestle/database/batches/columns.ts'
import type { Database } from '@trestle/database/connect.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db, InventoryTables, Trx } from '../database.ts'
import { serviceUnavailable } from '../errors.ts'
import type { ImportLimits } from '../rate-limits/concurrency-limits.ts'
import type { ReadProduct } from './import-record.ts'

/** The database for imports and exports, with the slots of imports. */
export type TransferDatabase = Pick<Database<InventoryTables>, 'db' | 'until'> & ImportLimits

/** The outcome for a product of a file. `exists`: a live product has the SKU and stays unchanged. */
export type ImportVerdict = 'created' | 'updated' | 'exists'

/** Whether a repeated SKU keeps its attributes or gets those of the file. */
type Existing = 'keep' | 'replace'

interface VerdictRow extends NumberedRow {
  readonly verdict: ImportVerdict
}

/**
 * Stores products in one statement. The verdicts are the same as for products stored one after the other. If a SKU appears twice,
 * `replace` stores its last product, and `keep` its first.
 * @throws pg.DatabaseError if PostgreSQL refuses the statement, or if it has lost too many conflicts
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
/** Joins each row of a file with the live product that has its SKU. */
const heldProduct = sql`${sql.table('products')} p ON p.sku = r.sku AND p.deleted_at IS NULL`

/** Adds a staged file without rows. Resolves to its id. @throws Error if the database returns no row */
async function insertImport(db: Db): Promise<string> {
  const { rows } = await sql<{ id: string }>`INSERT INTO ${importsTable} DEFAULT VALUES RETURNING id`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the import has no id')
  return row.id
}

/** Adds products after the existing rows of the file. Does not lock or read products of the service. */
async function insertImportRows(
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

/** The numbers of rows that would create or change a product if they were stored one after the other. */
interface JudgedRows {
  readonly staged: number
  /** The number of different SKUs in the file. */
  readonly skus: number
  /** The number of rows whose SKU is free. */
  readonly created: number
  /** The number of rows whose attributes differ from the product, or earlier row, with the SKU. */
  readonly different: number
}

/**
 * Counts the rows of a file by outcome. Takes no locks, so other requests may change the outcome.
 * @throws Error if the database returns no counts
 */
async function countImportRows(db: Db, id: string): Promise<JudgedRows> {
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

/** Deletes all rows of a file except those whose SKU a product or an earlier row has. */
async function deleteFreeImportRows(db: Db, id: string): Promise<void> {
  await sql`
    WITH numbered AS (
      SELECT r.place, p.id IS NULL AND row_number() OVER (PARTITION BY r.sku ORDER BY r.place) = 1 AS is_free
      FROM ${rowsTable} r LEFT JOIN ${heldProduct} WHERE r.import_id = ${id}
    )
    DELETE FROM ${rowsTable} r USING numbered n
    WHERE n.is_free AND r.import_id = ${id} AND r.place = n.place`.execute(db)
}

/** The values that identify a row of a file in errors. */
interface StagedRow {
  readonly place: number
  readonly line: number
  readonly sku: string
}

/** Lists rows of a file after a position, in their order, at most `limit`. */
async function listImportRows(
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
 * Stores the rows of a file in one statement. If a SKU appears twice, `replace` stores its last row, and `keep` its first. New
 * products come first, so that existing products are locked for a shorter time. The caller must hold the lock of `lockImports`,
 * because two concurrent files could deadlock.
 */
async function upsertImportRows(
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
 * Lock order: this lock, then the products. Two files may name products in opposite orders, so only one is stored at a time.
 */
async function lockImports(trx: Trx, id: string): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(tableoid::bigint) FROM ${importsTable} WHERE id = ${id}`.execute(trx)
}

/**
 * Deletes a staged file with its rows. Lock order: the file, then its rows. Clean-up uses the same order, so the two cannot
 * deadlock.
 */
async function deleteImport(db: Db, id: string): Promise<void> {
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
 * Deletes at most `limit` rows of files that got no row for an hour, because their process has ended. Resolves to the number of
 * deleted rows. Lock order: the file, then its rows. Skips a file that another process deletes.
 */
export async function deleteOldImportRows(pools: Pools, limit: number): Promise<number> {
  return (await pools.write.one(deleteOldQuery, { limit })).deleted
}

type Mode = 'insert' | 'upsert' | 'skip'

/** The rows of a file by outcome. `taken` counts rows that fail because their SKU is taken. */
export interface StagedCounts {
  readonly created: number
  readonly updated: number
  readonly skipped: number
  readonly taken: number
}

type KeepCounts = (trx: Trx, counts: StagedCounts) => Promise<void> | undefined

const PAGE_ROWS = 500
/** The number of attempts to store a file. An attempt fails if other requests create some of its products. */
const ATTEMPTS_MAX = 5

/** A file whose rows wait in the database until it is complete. Disposing of it deletes the file. */
export class StagedImport implements AsyncDisposable {
  readonly #db: Db
  readonly #id: string
  #staged = 0

  private constructor(db: Db, id: string) {
    this.#db = db
    this.#id = id
  }

  static async open(db: Db): Promise<StagedImport> {
    return new StagedImport(db, await insertImport(db))
  }

  async add(products: readonly ReadProduct[]): Promise<readonly 'staged'[]> {
    await insertImportRows(this.#db, { id: this.#id, staged: this.#staged }, products)
    this.#staged += products.length
    return products.map(() => 'staged')
  }

  /** Counts the outcomes of the rows without storing anything. */
  async judge(mode: Mode): Promise<StagedCounts> {
    return toCounts(this.#expectAllRows(await countImportRows(this.#db, this.#id)), mode)
  }

  /**
   * Stores all rows in one transaction, or no rows if `taken` is not 0.
   * @param keep stores the counts in the same transaction
   * @throws serviceUnavailable if rows are missing, or if other requests repeatedly take SKUs of the file; the error of `keep`
   */
  async apply(mode: Mode, keep: KeepCounts): Promise<StagedCounts> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const counts = await againWhenLost(() => this.#tryApply(mode, keep))
      if (counts !== undefined) return counts
    }
    throw serviceUnavailable({ cause: new Error('other requests create the same products again and again') })
  }

  async #tryApply(mode: Mode, keep: KeepCounts): Promise<StagedCounts | undefined> {
    const trx = await this.#db.startTransaction().execute()
    try {
      await lockImports(trx, this.#id)
      const judged = this.#expectAllRows(await countImportRows(trx, this.#id))
      const counts = toCounts(judged, mode)
      if (counts.taken > 0) return counts
      const { created, updated } = await upsertImportRows(trx, this.#id, mode === 'upsert' ? 'replace' : 'keep')
      if (mode === 'insert' && created < judged.staged) return undefined
      // If a SKU appears twice, only one of its rows is stored. Only the earlier counts include the other rows.
      const stored =
        judged.skus < judged.staged
          ? counts
          : { ...counts, created, updated, skipped: judged.staged - created - updated }
      await keep(trx, stored)
      await trx.commit().execute()
      return stored
    } finally {
      if (!trx.isCommitted) await trx.rollback().execute()
    }
  }

  /** Yields pages of the rows that were counted as taken. Deletes all other rows of the file. */
  async *listTaken({ taken }: StagedCounts): AsyncGenerator<readonly StagedRow[], void> {
    if (taken === 0) return
    await deleteFreeImportRows(this.#db, this.#id)
    for (let after = 0; ; ) {
      const rows = await listImportRows(this.#db, this.#id, { after, limit: PAGE_ROWS })
      if (rows.length > 0) yield rows
      after = rows.at(-1)?.place ?? 0
      if (rows.length < PAGE_ROWS) return
    }
  }

  /** If this fails, clean-up deletes the file an hour later. */
  async [Symbol.asyncDispose](): Promise<void> {
    await deleteImport(this.#db, this.#id).catch(() => {})
  }

  /**
   * Checks that no rows are missing. The tables are unlogged, so a crash empties them, and clean-up deletes old files.
   * @throws serviceUnavailable if rows are missing
   */
  #expectAllRows(judged: JudgedRows): JudgedRows {
    if (judged.staged === this.#staged) return judged
    throw serviceUnavailable({ cause: new Error('rows of the import are gone') })
  }
}

function toCounts({ staged, created, different }: JudgedRows, mode: Mode): StagedCounts {
  const updated = mode === 'upsert' ? different : 0
  const kept = staged - created - updated
  return { created, updated, skipped: mode === 'insert' ? 0 : kept, taken: mode === 'insert' ? kept : 0 }
}
