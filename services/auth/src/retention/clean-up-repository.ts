import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import { NIL_UUID } from '../records/ids.ts'
import { NO_TIME } from '../records/timestamp.ts'
import type { CleanUpBatch, CleanUpPlace, IndexCleanUp, TableCleanUp, WalkCleanUp } from './table-clean-up.ts'

const ROWS_MAX = 100
/** The most rows that a batch of a walk reads. */
const SEEN_ROWS_MAX = 1_000
/** The place of the expired rows in an index. */
const FRONT: CleanUpPlace = ''
const START: Readonly<Record<WalkCleanUp['table'], CleanUpPlace>> = {
  refresh_tokens: '0',
  sessions: NIL_UUID,
}

/** Deletes at most 100 expired rows. Leaves locked rows for the next batch. */
export async function deleteExpired(
  db: Db,
  cleanUp: TableCleanUp,
  after: CleanUpPlace | undefined,
): Promise<CleanUpBatch> {
  if (cleanUp.by === 'walk') return walkOn(db, cleanUp, after)
  const { numAffectedRows } = await indexStatement(cleanUp).execute(db)
  const removed = Number(numAffectedRows ?? 0n)
  const isFull = removed === ROWS_MAX
  return { removed, isFull, next: isFull ? FRONT : undefined }
}

async function walkOn(db: Db, cleanUp: WalkCleanUp, after: CleanUpPlace | undefined): Promise<CleanUpBatch> {
  const { rows } = await walkStatement(cleanUp, after ?? START[cleanUp.table]).execute(db)
  const [row] = rows
  if (!row) return { removed: 0, isFull: false, next: undefined }
  return { removed: row.removed, isFull: row.is_full, next: row.goes_on ? row.last_id : undefined }
}

/** The statement of a first batch, for tests of its plan. */
export function batchStatement(cleanUp: TableCleanUp): RawBuilder<unknown> {
  return cleanUp.by === 'index' ? indexStatement(cleanUp) : walkStatement(cleanUp, START[cleanUp.table])
}

/** Rows of a table that expire. Each text implies the condition of the index. */
const ONLY: Readonly<Record<NonNullable<IndexCleanUp['only']>, RawBuilder<boolean>>> = {
  unverified: sql`status = 'unverified'`,
  anonymous: sql`is_anonymous`,
  // Users who signed up and never confirmed. The first line is the condition of the index.
  unconfirmed: sql`confirmed_at IS NULL AND invited_at IS NULL AND staged_at IS NULL AND NOT keep_unconfirmed
  AND claimed_at IS NULL AND last_sign_in_at IS NULL AND banned_until IS NULL AND deleted_at IS NULL`,
}

function indexStatement({ table, column, before, only }: IndexCleanUp): RawBuilder<unknown> {
  const condition = only === undefined ? sql`true` : ONLY[only]
  return sql`DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${sql.table(table)} WHERE ${sql.ref(column)} < ${before} AND ${condition}
    ORDER BY ${sql.ref(column)} LIMIT ${sql.lit(ROWS_MAX)} FOR UPDATE SKIP LOCKED))`
}

/** SQL of others may insert sessions without the time. */
const startedAt = sql`coalesce(created_at, ${sql.lit(NO_TIME)}::timestamptz)`
const refreshedAt = sql`coalesce(refreshed_at AT TIME ZONE 'UTC', ${startedAt})`

/** Whether a row that a walk meets has expired. */
function staleInWalk(cleanUp: WalkCleanUp): RawBuilder<boolean> {
  if (cleanUp.table === 'refresh_tokens') return sql`revoked AND updated_at < ${cleanUp.until}`
  const { startedBefore, refreshedBefore } = cleanUp
  const ends = [
    startedBefore === undefined ? [] : [sql`${startedAt} < ${startedBefore}`],
    refreshedBefore === undefined ? [] : [sql`${refreshedAt} < ${refreshedBefore}`],
  ].flat()
  return sql`(${sql.join(ends, sql` OR `)})`
}

interface WalkRow {
  readonly removed: number
  readonly is_full: boolean
  readonly last_id: string
  readonly goes_on: boolean
}

/** The next batch continues after the last row that this one deleted, or, if this one was not full, after the last row it read. */
function walkStatement(cleanUp: WalkCleanUp, after: CleanUpPlace): RawBuilder<WalkRow> {
  const { table, until } = cleanUp
  const stale = staleInWalk(cleanUp)
  return sql`
    WITH seen AS MATERIALIZED (
      SELECT id, ${startedAt} AS created_at, ${stale} AS is_stale FROM ${sql.table(table)}
      WHERE id > ${after} ORDER BY id LIMIT ${sql.lit(SEEN_ROWS_MAX)}
    ), found AS MATERIALIZED (
      SELECT id FROM seen WHERE is_stale ORDER BY id LIMIT ${sql.lit(ROWS_MAX)}
    ), gone AS (
      DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${sql.table(table)} WHERE id = ANY (ARRAY(SELECT id FROM found)) AND ${stale}
        FOR UPDATE SKIP LOCKED)) RETURNING 1
    ), counts AS (
      SELECT (SELECT count(*)::int FROM gone) AS removed, (SELECT count(*) FROM found) = ${sql.lit(ROWS_MAX)} AS is_full,
        (SELECT count(*) FROM seen) = ${sql.lit(SEEN_ROWS_MAX)} AS saw_all_it_may
    )
    SELECT removed, is_full, id::text AS last_id, is_full OR (saw_all_it_may AND created_at < ${until}) AS goes_on
    FROM seen, counts WHERE NOT is_full OR id IN (SELECT id FROM found) ORDER BY id DESC LIMIT 1`
}
