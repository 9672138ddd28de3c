import { type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import type { ImportReport } from './import-report.ts'
import type { ImportOrder } from './operator-import-repository.ts'

const importsTable = sql.table('operator_imports')
const piecesTable = sql.table('import_pieces')

export interface ClaimedImport extends ImportOrder {
  readonly actorId: string
  /** The report of earlier attempts, or `null`. */
  readonly report: ImportReport | null
}

/** An attempt to run an import. Its id is stored with the import, so an attempt that has lost its claim changes nothing. */
export interface ImportAttempt {
  readonly importId: number
  readonly attemptId: string
}

/**
 * Claims an import for an attempt, even if an earlier attempt has claimed it. Waits for a transaction of the earlier attempt and
 * then reads its report.
 * @returns `undefined` if the import has ended or was deleted
 */
export async function claimImport(db: Db, { importId, attemptId }: ImportAttempt): Promise<ClaimedImport | undefined> {
  const { rows } = await sql<ClaimedImport>`
    UPDATE ${importsTable}
    SET state = 'running', attempt_id = ${attemptId}, touched_at = now(),
      processed = CASE WHEN storing = 'batches' THEN processed ELSE 0 END
    WHERE id = ${importId} AND state IN ('waiting', 'running')
    RETURNING format, mode, storing, actor_id AS "actorId", report`.execute(db)
  return rows[0]
}

/** Thrown if another attempt has claimed the import or it was deleted. The transaction then stores nothing. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError'
}

/** Stores the number of records that wait for the end of the file. @throws SupersededError */
export function updateProcessed(db: Db, attempt: ImportAttempt, processed: number): Promise<void> {
  return updateHeld(db, attempt, sql`processed = ${processed}`)
}

/** Stores the report in the transaction that stores the records. @throws SupersededError */
export function updateReport(trx: Db, attempt: ImportAttempt, report: ImportReport): Promise<void> {
  return updateHeld(trx, attempt, sql`processed = ${report.received}, report = ${JSON.stringify(report)}::json`)
}

/** If `report` is `null`, the stored report stays unchanged. */
export interface ImportEnd {
  readonly state: 'done' | 'failed'
  readonly report: ImportReport | null
  readonly error: { readonly type: string; readonly description: string } | null
}

/** Ends an import and deletes its file. @throws SupersededError */
export async function updateEnded(
  trx: Trx,
  attempt: ImportAttempt,
  { state, report, error }: ImportEnd,
): Promise<void> {
  const counts = report && sql`, processed = ${report.received}, report = ${JSON.stringify(report)}::json`
  await updateHeld(
    trx,
    attempt,
    sql`state = ${state}, ended_at = clock_timestamp(), error = ${error && JSON.stringify(error)}::json${counts ?? sql``}`,
  )
  await sql`DELETE FROM ${piecesTable} WHERE import_id = ${attempt.importId}`.execute(trx)
}

async function updateHeld(db: Db, { importId, attemptId }: ImportAttempt, changes: RawBuilder<unknown>): Promise<void> {
  const { rows } = await sql`
    UPDATE ${importsTable} SET ${changes}, touched_at = now()
    WHERE id = ${importId} AND attempt_id = ${attemptId} AND state = 'running' RETURNING 1`.execute(db)
  if (rows.length === 0) throw new SupersededError('another attempt goes on with the import')
}

/**
 * Adds a row to the audit log for the products that this transaction has written, with the operator who started the import as the
 * actor. Adds no row if it has written no product.
 */
export async function insertImportAudit(
  trx: Trx,
  importId: number,
  written: { readonly skus: readonly string[] } | 'every product',
): Promise<void> {
  const bySku = written === 'every product' ? sql`true` : sql`p.sku = ANY (${written.skus}::text[])`
  await sql`
    WITH written AS (
      SELECT array_agg(p.id) AS ids, count(*) FILTER (WHERE p.version = 1) AS created,
        count(*) FILTER (WHERE p.version > 1) AS updated
      FROM ${sql.table('products')} p WHERE p.xmin = pg_current_xact_id()::xid AND ${bySku}
    )
    INSERT INTO ${sql.table('operator_audit')}
      (action, actor_id, actor_email, key_name, role, address, object_kind, object_id, product_ids, idempotency_key, changes)
    SELECT 'products.import', actor_id, actor_email, key_name, role, address, 'import', i.id, w.ids, idempotency_key,
      json_build_object('created', w.created, 'updated', w.updated)
    FROM ${importsTable} i, written w WHERE i.id = ${importId} AND w.ids IS NOT NULL`.execute(trx)
}
