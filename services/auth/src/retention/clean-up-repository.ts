import { isLockTimeout, isRefusedStatement } from '@trestle/database/unavailable.ts'
import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import type { AuthConfig } from '../config.ts'
import type { AuthTables, Db } from '../database.ts'
import { NIL_UUID } from '../records/ids.ts'
import { NO_TIME } from '../records/timestamp.ts'

const ROWS_MAX = 100
/** The most rows that a batch of a walk reads. */
const SEEN_ROWS_MAX = 1_000
/** The position at the first expired row of an index. */
const FRONT: CleanUpPlace = ''
const START: Readonly<Record<WalkCleanUp['table'], CleanUpPlace>> = {
  refresh_tokens: '0',
  sessions: NIL_UUID,
}

/**
 * Deletes at most 100 expired rows. Skips locked rows, and rows that an application object protects from deletion. A batch with
 * such a row is deleted row by row. Never deletes rows of inheriting tables, because a `ctid` is unique only within one table.
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

/** Two ways to delete the same rows. */
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

/** Returns the statement of a first batch, for tests of its plan. */
export function batchStatement(cleanUp: TableCleanUp): RawBuilder<unknown> {
  return cleanUp.by === 'index'
    ? indexStatement(cleanUp, FRONT)
    : walkStatement(cleanUp, START[cleanUp.table], 'delete')
}

/** The rows of a table that can expire. Each condition implies that of the index. */
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

/** An index entry: its value and its `ctid`, which orders rows with the same value. */
const IndexRow = z.object({ at: z.string(), place: z.string() })
type IndexRow = z.output<typeof IndexRow>

function listInIndex(cleanUp: IndexCleanUp, after: CleanUpPlace): RawBuilder<IndexRow> {
  return sql`SELECT ${sql.ref(cleanUp.column)}::text AS at, ctid::text AS place FROM ${fromPlace(cleanUp, after, BY_PLACE)}`
}

/** Orders rows with the same value. The index has no such order, so only queries that need it use this. */
const BY_PLACE = sql`, ctid`
const IN_ANY_ORDER = sql``

/** Returns the text after FROM for the next expired rows. */
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

/** Another row may have this `ctid` by now. It is deleted only if it has expired too. */
function deleteOfIndex(cleanUp: IndexCleanUp, { place }: IndexRow): RawBuilder<unknown> {
  return sql`DELETE FROM ONLY ${sql.table(cleanUp.table)} WHERE ctid = ${place}::tid AND ${isExpired(cleanUp)}`
}

function deleteOfWalk(cleanUp: WalkCleanUp, id: string): RawBuilder<unknown> {
  return sql`DELETE FROM ONLY ${sql.table(cleanUp.table)} WHERE id = ${id} AND ${isExpiredInWalk(cleanUp)}`
}

/** Applications may insert sessions without a time by SQL. */
const startedAt = sql`coalesce(created_at, ${sql.lit(NO_TIME)}::timestamptz)`
const refreshedAt = sql`coalesce(refreshed_at AT TIME ZONE 'UTC', ${startedAt})`

/** Returns SQL for whether a row of a walk has expired. */
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
  /** The ids of the rows to delete, if the statement only lists them. */
  readonly ids: readonly string[]
}

/** The next batch continues after the last deleted row or, if this batch was not full, after the last row read. */
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

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** How long operators can see a mail or an SMS. */
const MESSAGE_LIFETIME_MS = 30 * DAY_MS

/** Returns the time that many milliseconds ago. */
type Ago = (ms: number) => Date

/** Returns the clean-ups of all tables (reference: Retention). */
export function listCleanUps(config: AuthConfig, now: Date): readonly TableCleanUp[] {
  const ago: Ago = (ms) => new Date(now.getTime() - ms)
  const yesterday = ago(DAY_MS)
  const codeMs = config.mail.codeLifetimeSeconds * 1_000
  const pendingMs = Math.max(codeMs, config.sms.codeLifetimeSeconds * 1_000) + DAY_MS
  // The lifetime of the auth code begins when the link of the mail is used.
  const flowMs = Math.max(DAY_MS, codeMs) + config.external.flowStateLifetimeMs
  const intervals = [...Object.values(config.mail.intervalMs), config.sms.intervalMs, config.mfa.phone.intervalMs]
  const unverifiedMs = Math.max(DAY_MS, config.mfa.unverifiedLifetimeMs)
  return [
    { by: 'walk', table: 'refresh_tokens', until: yesterday },
    byIndex('sessions', 'not_after', yesterday),
    ...listSessionWalks(config.sessions, ago),
    byIndex('flow_state', 'created_at', ago(flowMs)),
    byIndex('mfa_factors', 'created_at', ago(unverifiedMs), 'unverified'),
    byIndex('mfa_challenges', 'created_at', ago(DAY_MS + config.mfa.challengeLifetimeSeconds * 1_000)),
    byIndex('webauthn_challenges', 'expires_at', yesterday),
    byIndex('one_time_tokens', 'expires_at', yesterday),
    byIndex('send_throttle', 'sent_at', ago(Math.max(DAY_MS, ...intervals))),
    byIndex('code_guesses', 'since', yesterday),
    byIndex('messages', 'created_at', ago(MESSAGE_LIFETIME_MS)),
    byIndex('users', 'staged_at', ago(pendingMs)),
    ...listRetentions(config, ago),
  ]
}

function byIndex(
  table: IndexCleanUp['table'],
  column: string,
  before: Date,
  only: IndexCleanUp['only'] = undefined,
): IndexCleanUp {
  return { by: 'index', table, column, before, only }
}

/** Returns a clean-up of sessions that ended by a setting a day ago, unless sessions never end. */
function listSessionWalks(
  { timeboxMs, inactivityTimeoutMs }: AuthConfig['sessions'],
  ago: Ago,
): readonly WalkCleanUp[] {
  const lives = [timeboxMs, inactivityTimeoutMs].filter((ms) => ms !== undefined)
  if (lives.length === 0) return []
  const startedBefore = timeboxMs === undefined ? undefined : ago(DAY_MS + timeboxMs)
  const refreshedBefore = inactivityTimeoutMs === undefined ? undefined : ago(DAY_MS + inactivityTimeoutMs)
  return [{ by: 'walk', table: 'sessions', until: ago(DAY_MS + Math.min(...lives)), startedBefore, refreshedBefore }]
}

/** Returns clean-ups of rows that strangers can create, after the retention times of the settings. */
function listRetentions(
  { database, mail, sms }: Pick<AuthConfig, 'database' | 'mail' | 'sms'>,
  ago: Ago,
): readonly IndexCleanUp[] {
  const { anonymousRetentionMs, auditRetentionMs, unconfirmedRetentionMs } = database
  const codeMs = Math.max(mail.codeLifetimeSeconds, sms.codeLifetimeSeconds) * 1_000
  return [
    anonymousRetentionMs === 'off' ? [] : [byIndex('users', 'created_at', ago(anonymousRetentionMs), 'anonymous')],
    auditRetentionMs === 'off' ? [] : [byIndex('audit_log_entries', 'created_at', ago(auditRetentionMs))],
    // Keep unconfirmed users while their last message is valid. Keep them for ever if they may sign in.
    unconfirmedRetentionMs === 'off' || mail.allowsUnverified
      ? []
      : [byIndex('users', 'confirmation_sent_at', ago(Math.max(unconfirmedRetentionMs, codeMs)), 'unconfirmed')],
  ].flat()
}

/** How the expired rows of a table are found. A batch costs the same for tables of any size. */
export type TableCleanUp = IndexCleanUp | WalkCleanUp

/** A clean-up by an index that begins with `column`. */
interface IndexCleanUp {
  readonly by: 'index'
  readonly table: keyof AuthTables
  readonly column: string
  /** A row has expired if its column is earlier than this. */
  readonly before: Date
  /** If it is `undefined`, all rows of the table expire. */
  readonly only: 'unverified' | 'anonymous' | 'unconfirmed' | undefined
}

/**
 * A walk along the primary key, which is ordered by time. It ends at the first row that was created at `until` or later. An index
 * instead would slow down frequent updates.
 */
type WalkCleanUp =
  | {
      readonly by: 'walk'
      readonly table: 'refresh_tokens'
      /** A spent token has expired if its last update is earlier than this. */
      readonly until: Date
    }
  | {
      readonly by: 'walk'
      readonly table: 'sessions'
      readonly until: Date
      /** A session has expired if it began earlier. If it is `undefined`, sessions have no greatest age. */
      readonly startedBefore: Date | undefined
      /** A session has expired if its last refresh is earlier. If it is `undefined`, sessions may be idle. */
      readonly refreshedBefore: Date | undefined
    }

/**
 * The position at which a clean-up continues. In a walk, it is the last id. In an index, it is the start, or the last row of a
 * batch with refused rows.
 */
export type CleanUpPlace = string

/** Rows that an application object protects from deletion: a foreign key without a cascade, or a trigger. */
export interface RefusedRows {
  readonly rows: number
  /** The PostgreSQL error for the first of these rows. */
  readonly cause: unknown
}

/** The result of a batch of a clean-up, and the start of the next batch. */
export interface CleanUpBatch {
  readonly removed: number
  /** `undefined` if no row was refused. */
  readonly refused?: RefusedRows
  /** Whether the batch reached its limit, so that more rows may be left. */
  readonly isFull: boolean
  /** `undefined` if nothing is left. */
  readonly next: CleanUpPlace | undefined
}
