import { isLockTimeout, isRefusedStatement } from '@trestle/database/unavailable.ts'
import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
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

/**
 * Deletes at most 100 expired rows. Leaves locked rows for the next batch, and rows that a neighbour refuses
 * to delete: a batch with one of them is deleted row by row, so that the others go. Rows of tables that inherit
 * stay: the place of a row is its own in its table alone.
 */
export async function deleteExpired(
  db: Db,
  cleanUp: TableCleanUp,
  after: CleanUpPlace | undefined,
): Promise<CleanUpBatch> {
  const batch = cleanUp.by === 'walk' ? walkBatch(cleanUp, after) : indexBatch(cleanUp, after)
  try {
    return await batch.together(db)
  } catch (error) {
    if (isLockTimeout(error) || !isRefusedStatement(error)) throw error
    return batch.oneByOne(db)
  }
}

/** The two ways to delete the same rows. */
interface Batch {
  readonly together: (db: Db) => Promise<CleanUpBatch>
  readonly oneByOne: (db: Db) => Promise<CleanUpBatch>
}

function indexBatch(cleanUp: IndexCleanUp, after: CleanUpPlace = FRONT): Batch {
  return {
    together: async (db) => {
      const { numAffectedRows } = await indexStatement(cleanUp, after).execute(db)
      const removed = Number(numAffectedRows ?? 0n)
      const isFull = removed === ROWS_MAX
      return { removed, isFull, next: isFull ? after : undefined }
    },
    oneByOne: async (db) => {
      const { rows } = await listInIndex(cleanUp, after).execute(db)
      const deleted = await deleteEach(db, (row) => deleteOfIndex(cleanUp, row), rows)
      const last = rows.length === ROWS_MAX ? rows.at(-1) : undefined
      return { ...deleted, isFull: false, next: last && JSON.stringify(last) }
    },
  }
}

function walkBatch(cleanUp: WalkCleanUp, after: CleanUpPlace = START[cleanUp.table]): Batch {
  const run = async (db: Db, wanted: 'delete' | 'list') => {
    const { rows } = await walkStatement(cleanUp, after, wanted).execute(db)
    const [row] = rows
    return row ?? { removed: 0, is_full: false, last_id: '', goes_on: false, ids: [] }
  }
  const nextOf = ({ goes_on, last_id }: WalkRow) => (goes_on ? last_id : undefined)
  return {
    together: async (db) => {
      const row = await run(db, 'delete')
      return { removed: row.removed, isFull: row.is_full, next: nextOf(row) }
    },
    oneByOne: async (db) => {
      const row = await run(db, 'list')
      const deleted = await deleteEach(db, (id) => deleteOfWalk(cleanUp, id), row.ids)
      return { ...deleted, isFull: row.is_full, next: nextOf(row) }
    },
  }
}

async function deleteEach<Row>(
  db: Db,
  statement: (row: Row) => RawBuilder<unknown>,
  rows: readonly Row[],
): Promise<Pick<CleanUpBatch, 'removed' | 'refused'>> {
  let removed = 0
  let refused: CleanUpBatch['refused']
  for (const row of rows) {
    try {
      const { numAffectedRows } = await statement(row).execute(db)
      removed += Number(numAffectedRows ?? 0n)
    } catch (error) {
      if (!isRefusedStatement(error)) throw error
      refused = { cause: error, ...refused, rows: (refused?.rows ?? 0) + 1 }
    }
  }
  return refused ? { removed, refused } : { removed }
}

/** The statement of a first batch, for tests of its plan. */
export function batchStatement(cleanUp: TableCleanUp): RawBuilder<unknown> {
  return cleanUp.by === 'index'
    ? indexStatement(cleanUp, FRONT)
    : walkStatement(cleanUp, START[cleanUp.table], 'delete')
}

/** Rows of a table that expire. Each text implies the condition of the index. */
const ONLY: Readonly<Record<NonNullable<IndexCleanUp['only']>, RawBuilder<boolean>>> = {
  unverified: sql`status = 'unverified'`,
  anonymous: sql`is_anonymous AND NOT keep_unconfirmed`,
  // Users who signed up and never confirmed. The first line is the condition of the index.
  unconfirmed: sql`confirmed_at IS NULL AND invited_at IS NULL AND staged_at IS NULL AND NOT keep_unconfirmed
  AND claimed_at IS NULL AND last_sign_in_at IS NULL AND banned_until IS NULL AND deleted_at IS NULL`,
}

const isExpired = ({ column, before, only }: IndexCleanUp) =>
  sql`${sql.ref(column)} < ${before} AND ${only === undefined ? sql`true` : ONLY[only]}`

function indexStatement(cleanUp: IndexCleanUp, after: CleanUpPlace): RawBuilder<unknown> {
  return sql`DELETE FROM ONLY ${sql.table(cleanUp.table)} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${fromPlace(cleanUp, after)} FOR UPDATE SKIP LOCKED))`
}

/** A row of an index: its value, and its place in the table, which orders rows of one value. */
const IndexRow = z.object({ at: z.string(), place: z.string() })
type IndexRow = z.output<typeof IndexRow>

function listInIndex(cleanUp: IndexCleanUp, after: CleanUpPlace): RawBuilder<IndexRow> {
  return sql`SELECT ${sql.ref(cleanUp.column)}::text AS at, ctid::text AS place FROM ${fromPlace(cleanUp, after, BY_PLACE)}`
}

/** The order of rows that have the same value. The index has none, so only the queries where it matters ask for it. */
const BY_PLACE = sql`, ctid`
const IN_ANY_ORDER = sql``

/** The text after FROM for the next expired rows. */
function fromPlace(
  cleanUp: IndexCleanUp,
  after: CleanUpPlace,
  order = after === FRONT ? IN_ANY_ORDER : BY_PLACE,
): RawBuilder<unknown> {
  const column = sql.ref(cleanUp.column)
  const { at, place } = after === FRONT ? { at: '', place: '' } : IndexRow.parse(JSON.parse(after))
  const isNext =
    after === FRONT
      ? sql`true`
      : sql`${column} >= ${at}::timestamptz AND (${column}, ctid) > (${at}::timestamptz, ${place}::tid)`
  return sql`ONLY ${sql.table(cleanUp.table)} WHERE ${isExpired(cleanUp)} AND ${isNext}
    ORDER BY ${column}${order} LIMIT ${sql.lit(ROWS_MAX)}`
}

/** Another row may have taken the place meanwhile. If it has expired too, it goes. */
function deleteOfIndex(cleanUp: IndexCleanUp, { place }: IndexRow): RawBuilder<unknown> {
  return sql`DELETE FROM ONLY ${sql.table(cleanUp.table)} WHERE ctid = ${place}::tid AND ${isExpired(cleanUp)}`
}

function deleteOfWalk(cleanUp: WalkCleanUp, id: string): RawBuilder<unknown> {
  return sql`DELETE FROM ONLY ${sql.table(cleanUp.table)} WHERE id = ${id} AND ${isExpiredInWalk(cleanUp)}`
}

/** Applications may insert sessions by SQL, without the time. */
const startedAt = sql`coalesce(created_at, ${sql.lit(NO_TIME)}::timestamptz)`
const refreshedAt = sql`coalesce(refreshed_at AT TIME ZONE 'UTC', ${startedAt})`

/** Whether a row that a walk meets has expired. */
function isExpiredInWalk(cleanUp: WalkCleanUp): RawBuilder<boolean> {
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
  /** The rows to delete, where they are only listed. */
  readonly ids: readonly string[]
}

/**
 * The next batch continues after the last row that this one deleted, or, if this one was not full, after the
 * last row it read.
 */
function walkStatement(cleanUp: WalkCleanUp, after: CleanUpPlace, wanted: 'delete' | 'list'): RawBuilder<WalkRow> {
  const { table, until } = cleanUp
  const isExpired = isExpiredInWalk(cleanUp)
  const gone = sql`
    DELETE FROM ONLY ${sql.table(table)} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ONLY ${sql.table(table)} WHERE id = ANY (ARRAY(SELECT id FROM found)) AND ${isExpired}
      FOR UPDATE SKIP LOCKED)) RETURNING 1`
  return sql`
    WITH seen AS MATERIALIZED (
      SELECT id, ${startedAt} AS created_at, ${isExpired} AS is_stale FROM ONLY ${sql.table(table)}
      WHERE id > ${after} ORDER BY id LIMIT ${sql.lit(SEEN_ROWS_MAX)}
    ), found AS MATERIALIZED (
      SELECT id FROM seen WHERE is_stale ORDER BY id LIMIT ${sql.lit(ROWS_MAX)}
    ), gone AS (${wanted === 'delete' ? gone : sql`SELECT 1 WHERE false`}
    ), counts AS (
      SELECT (SELECT count(*)::int FROM gone) AS removed, (SELECT count(*) FROM found) = ${sql.lit(ROWS_MAX)} AS is_full,
        (SELECT count(*) FROM seen) = ${sql.lit(SEEN_ROWS_MAX)} AS saw_all_it_may
    )
    SELECT removed, is_full, id::text AS last_id, is_full OR (saw_all_it_may AND created_at < ${until}) AS goes_on,
      ${wanted === 'delete' ? sql`NULL::text[]` : sql`ARRAY(SELECT id::text FROM found ORDER BY id)`} AS ids
    FROM seen, counts WHERE NOT is_full OR id IN (SELECT id FROM found) ORDER BY id DESC LIMIT 1`
}
