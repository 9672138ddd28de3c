import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import type { Operator } from '@trestle/operators/operator.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { OperatorImport, ReportedImport, Storing } from './import-report.ts'
import type { ImportFormat } from './read-records.ts'

const importsTable = sql.table('operator_imports')
const piecesTable = sql.table('import_pieces')

export interface ImportOrder {
  readonly format: ImportFormat
  readonly mode: OperatorImport['mode']
  readonly storing: Storing
}

/** Adds an import while its file arrives. Lists do not show it yet. @throws Error if the database returns no row */
export async function insertOperatorImport(
  db: Db,
  { operator, key }: { readonly operator: Operator; readonly key: string | undefined },
  { format, mode, storing }: ImportOrder,
): Promise<number> {
  const { actor, key: keyName, role, address } = operator
  const { rows } = await sql<{ id: number }>`
    INSERT INTO ${importsTable}
      (format, mode, storing, actor_id, actor_email, key_name, role, address, idempotency_key)
    VALUES (${format}, ${mode}, ${storing}, ${actor.id}, ${actor.email}, ${keyName}, ${role}, ${address}, ${key ?? null})
    RETURNING id::float8`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error('the import has no id')
  return row.id
}

/**
 * Appends a piece of the file.
 * @param place the index of the piece, starting at 0
 * @returns whether the import still exists
 */
export async function insertImportPiece(db: Db, id: number, place: number, bytes: Uint8Array): Promise<boolean> {
  const { rows } = await sql`
    WITH touched AS (UPDATE ${importsTable} SET touched_at = now() WHERE id = ${id} RETURNING id)
    INSERT INTO ${piecesTable} (import_id, place, bytes) SELECT id, ${place}, ${Buffer.from(bytes)} FROM touched RETURNING 1`.execute(
    db,
  )
  return rows.length > 0
}

/** Yields the pieces of a file in order. Only one piece is in memory at a time. */
export async function* listImportPieces(db: Db, id: number): AsyncGenerator<Uint8Array, void> {
  for (let place = 0; ; place++) {
    const { rows } = await sql<{ bytes: Buffer }>`
      SELECT bytes FROM ${piecesTable} WHERE import_id = ${id} AND place = ${place}`.execute(db)
    if (rows[0] === undefined) return
    yield rows[0].bytes
  }
}

export async function deleteOperatorImport(db: Db, id: number): Promise<void> {
  await sql`DELETE FROM ${importsTable} WHERE id = ${id}`.execute(db)
}

const shown = sql`
  id::float8, state, format, mode, storing = 'all-or-nothing' AS atomic, storing = 'nothing' AS "dryRun",
  total::float8, processed::float8, json_build_object('id', actor_id, 'email', actor_email) AS "createdBy",
  ${sql.table('rfc3339')}(created_at) AS created, ${sql.table('rfc3339')}(ended_at) AS ended`

/**
 * Marks an import whose file has arrived as waiting for its job. Resolves to `undefined` if it was deleted.
 * @param total the number of records in the file
 */
export async function updateArrived(trx: Db, id: number, total: number): Promise<ReportedImport | undefined> {
  const { rows } = await sql<ReportedImport>`
    UPDATE ${importsTable} SET state = 'waiting', total = ${total}, touched_at = now() WHERE id = ${id}
    RETURNING ${shown}, report, error`.execute(trx)
  return rows[0]
}

/** Lists imports whose file has arrived. @param after the id of the previous import, or 0 for the first page */
export async function listOperatorImports(
  db: Db,
  order: 'asc' | 'desc',
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly OperatorImport[]> {
  const isLater = order === 'asc' ? sql`id > ${after}` : sql`(id < ${after} OR ${after} = 0)`
  const { rows } = await sql<OperatorImport>`
    SELECT ${shown} FROM ${importsTable} WHERE state <> 'arriving' AND ${isLater}
    ORDER BY id ${order === 'asc' ? sql`ASC` : sql`DESC`} LIMIT ${limit}`.execute(db)
  return rows
}

/** Finds an import whose file has arrived, with its report. */
export async function findOperatorImport(db: Db, id: number): Promise<ReportedImport | undefined> {
  const { rows } = await sql<ReportedImport>`
    SELECT ${shown}, report, error FROM ${importsTable} WHERE id = ${id} AND state <> 'arriving'`.execute(db)
  return rows[0]
}

const cleanUpQuery = prepare(
  'clean_up_operator_imports',
  (p: { limit: number }) => sql<{ count: number }>`
    WITH old AS (
      SELECT id FROM ${importsTable}
      WHERE created_at < now() - interval '30 days' OR (state = 'arriving' AND touched_at < now() - interval '1 hour')
      LIMIT ${p.limit} FOR UPDATE SKIP LOCKED
    ), gone AS (DELETE FROM ${importsTable} i USING old WHERE i.id = old.id RETURNING 1)
    SELECT count(*)::int AS count FROM gone`,
)

/**
 * Deletes at most `limit` imports that are older than 30 days, and files whose upload stopped an hour ago. Resolves to the number
 * of deleted rows. Skips an import that another process changes.
 */
export async function deleteOldOperatorImports(pools: Pools, limit: number): Promise<number> {
  return (await pools.write.one(cleanUpQuery, { limit })).count
}

const failQuery = prepare(
  'fail_abandoned_imports',
  (p: { limit: number; error: string }) => sql<{ count: number }>`
    WITH abandoned AS (
      SELECT id FROM ${importsTable} WHERE state IN ('waiting', 'running') AND touched_at < now() - interval '1 day'
      LIMIT ${p.limit} FOR UPDATE SKIP LOCKED
    ), emptied AS (DELETE FROM ${piecesTable} f USING abandoned a WHERE f.import_id = a.id),
    failed AS (
      UPDATE ${importsTable} i SET state = 'failed', ended_at = clock_timestamp(), error = ${p.error}::text::json
      FROM abandoned a WHERE i.id = a.id RETURNING 1
    )
    SELECT count(*)::int AS count FROM failed`,
)

/**
 * Marks at most `limit` imports as failed that no process has continued for a day, because their job is lost or no worker is
 * running. Resolves to the number of these imports.
 */
export async function updateAbandonedImports(
  pools: Pools,
  limit: number,
  error: NonNullable<ReportedImport['error']>,
): Promise<number> {
  return (await pools.write.one(failQuery, { limit, error: JSON.stringify(error) })).count
}
