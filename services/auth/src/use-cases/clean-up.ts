import type { Meter } from '@opentelemetry/api'
import type { Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { AuthConfig } from '../config.ts'
import type { AuthDatabase } from '../database.ts'
import { NO_TIME } from '../timestamp.ts'

/** Deletes expired rows (reference: Retention). One process runs it every minute. */
export const cleanUpTask = defineTask<Record<string, never>>('clean-up', {
  retryLimit: 0,
  firstDelaySeconds: 1,
  longestDelaySeconds: 1,
  timeoutSeconds: 50,
  sealed: false,
})

/** Every minute. */
export const CLEAN_UP_CRON = '* * * * *'

/** A run continues while there are rows to delete, to keep up with any load. It ends before the next run begins. */
const RUN_MS = 20_000
/**
 * The most batches of a walk in a run that find few rows, which is a million rows a minute. So a walk past the tokens of ten
 * million users who stay signed in takes ten minutes, and two seconds of one connection in each minute.
 */
const SPARSE_BATCHES_MAX = 1_000

type SweepDeps = Readonly<{ config: AuthConfig; now: () => Date }>

type CountRows = (table: string, rows: number) => void

/** Makes the handler of the task. A walk that a run does not finish continues in the next run. */
export function createCleanUp(
  deps: SweepDeps & { readonly db: Kysely<AuthDatabase> },
  countRows: CountRows,
  sparseBatchesMax = SPARSE_BATCHES_MAX,
): () => Promise<Outcome> {
  const cursors = new Map<string, Cursor>()
  const runOne = async (sweep: Sweep): Promise<Batch> => {
    const place = `${sweep.by} ${sweep.table}`
    const batch = await runBatch(deps.db, sweep, cursors.get(place))
    countRows(sweep.table, batch.removed)
    if (batch.next === undefined) cursors.delete(place)
    else cursors.set(place, batch.next)
    return batch
  }
  return async () => {
    const time = AbortSignal.timeout(RUN_MS)
    let turns = listSweeps(deps).map((sweep) => ({ sweep, sparse: 0 }))
    // One batch of each in turn, so that a table with many rows does not delay the others.
    while (turns.length > 0 && !time.aborted) {
      const next: typeof turns = []
      for (const { sweep, sparse } of turns) {
        const batch = await runOne(sweep)
        const sparseNow = batch.isFull ? sparse : sparse + 1
        if (batch.next !== undefined && sparseNow < sparseBatchesMax) next.push({ sweep, sparse: sparseNow })
      }
      turns = next
    }
    return 'done'
  }
}

/** Counts the rows in `auth_cleanup_affected_rows_total`. */
export function createCleanUpCounter({ meter }: { readonly meter: Meter }): CountRows {
  const counter = meter.createCounter('auth_cleanup_affected_rows_total', { description: 'Rows removed by clean-up' })
  return (table, rows) => counter.add(rows, { table })
}

/** How the expired rows of a table are found, so that a batch costs the same for a table of any size. */
export type Sweep =
  | {
      /** By the front of an index, whose first column is `column`. */
      readonly by: 'index'
      readonly table: keyof AuthDatabase
      readonly column: string
      readonly stale: RawBuilder<boolean>
    }
  | {
      /**
       * By a walk along the primary key, which is ordered by time, up to the first row that was created at `until`. An index would
       * slow a hot update down.
       */
      readonly by: 'walk'
      readonly table: 'refresh_tokens' | 'sessions'
      readonly stale: RawBuilder<boolean>
      readonly until: Date
    }

/** Where a sweep continues: the last id of a walk; an index always continues at its front. */
type Cursor = string

interface Batch {
  readonly removed: number
  /** Whether it deleted as many rows as a batch may, so that more may be left. */
  readonly isFull: boolean
  /** Undefined: nothing is left. */
  readonly next: Cursor | undefined
}

const ROWS_MAX = 100
/** The most rows that a batch of a walk reads. */
const SEEN_MAX = 1_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const ANONYMOUS_LIFETIME_MS = 30 * DAY_MS
/** The place of the expired rows in an index. */
const FRONT: Cursor = ''
const START: Readonly<Record<'refresh_tokens' | 'sessions', Cursor>> = {
  refresh_tokens: '0',
  sessions: '00000000-0000-0000-0000-000000000000',
}

/** The sweeps of all tables (reference: Retention). */
export function listSweeps({ config, now }: SweepDeps): readonly Sweep[] {
  const ago = (ms: number) => new Date(now().getTime() - ms)
  const yesterday = ago(DAY_MS)
  const codeMs = config.mail.codeLifetimeSeconds * 1_000
  const stagedMs = Math.max(codeMs, config.sms.codeLifetimeSeconds * 1_000) + DAY_MS
  // The auth code of a mail's link begins to live when the link is used.
  const flowMs = Math.max(DAY_MS, codeMs) + config.external.flowStateLifetimeMs
  const intervals = [...Object.values(config.mail.intervalMs), config.sms.intervalMs, config.mfa.phone.intervalMs]
  const intervalMs = Math.max(DAY_MS, ...intervals)
  const byIndex = (table: keyof AuthDatabase, column: string, before: Date, only = sql<boolean>`true`): Sweep => ({
    by: 'index',
    table,
    column,
    stale: sql`${sql.ref(column)} < ${before} AND ${only}`,
  })
  return [
    { by: 'walk', table: 'refresh_tokens', stale: sql`revoked AND updated_at < ${yesterday}`, until: yesterday },
    byIndex('sessions', 'not_after', yesterday),
    ...listSessionWalks(config.sessions, ago),
    byIndex('flow_state', 'created_at', ago(flowMs)),
    byIndex(
      'mfa_factors',
      'created_at',
      ago(Math.max(DAY_MS, config.mfa.unverifiedLifetimeMs)),
      sql`status = 'unverified'`,
    ),
    byIndex('mfa_challenges', 'created_at', ago(DAY_MS + config.mfa.challengeLifetimeSeconds * 1_000)),
    byIndex('webauthn_challenges', 'expires_at', yesterday),
    byIndex('one_time_tokens', 'expires_at', yesterday),
    byIndex('send_throttle', 'sent_at', ago(intervalMs)),
    byIndex('code_guesses', 'since', yesterday),
    byIndex('users', 'staged_at', ago(stagedMs)),
    byIndex('users', 'created_at', ago(ANONYMOUS_LIFETIME_MS), sql`is_anonymous`),
    ...listRetentions(config, byIndex, ago),
  ]
}

/** Sweeps of rows that strangers can make, after the time that settings give. */
function listRetentions(
  { database, mail, sms }: Pick<AuthConfig, 'database' | 'mail' | 'sms'>,
  byIndex: (table: keyof AuthDatabase, column: string, before: Date, only?: RawBuilder<boolean>) => Sweep,
  ago: (ms: number) => Date,
): readonly Sweep[] {
  const { auditRetentionMs, unconfirmedRetentionMs } = database
  const codeMs = Math.max(mail.codeLifetimeSeconds, sms.codeLifetimeSeconds) * 1_000
  return [
    auditRetentionMs === 'off' ? [] : [byIndex('audit_log_entries', 'created_at', ago(auditRetentionMs))],
    // Keep unconfirmed users while the last message may still confirm them, and where they may sign in.
    unconfirmedRetentionMs === 'off' || mail.allowsUnverified
      ? []
      : [byIndex('users', 'confirmation_sent_at', ago(Math.max(unconfirmedRetentionMs, codeMs)), UNCONFIRMED)],
  ].flat()
}

/** Users who signed up and never confirmed. The first line is the condition of the index. */
const UNCONFIRMED = sql<boolean>`confirmed_at IS NULL AND invited_at IS NULL AND staged_at IS NULL AND NOT keep_unconfirmed
  AND claimed_at IS NULL AND last_sign_in_at IS NULL AND banned_until IS NULL AND deleted_at IS NULL`

/** SQL of others may insert sessions without the time. */
const startedAt = sql`coalesce(created_at, ${sql.lit(NO_TIME)}::timestamptz)`

/** Sweeps of sessions that the settings ended a day ago. */
function listSessionWalks(
  { timeboxMs, inactivityTimeoutMs }: AuthConfig['sessions'],
  ago: (ms: number) => Date,
): readonly Sweep[] {
  const ends = [
    timeboxMs === undefined ? [] : [{ column: startedAt, ms: DAY_MS + timeboxMs }],
    inactivityTimeoutMs === undefined
      ? []
      : [{ column: sql`coalesce(refreshed_at AT TIME ZONE 'UTC', ${startedAt})`, ms: DAY_MS + inactivityTimeoutMs }],
  ].flat()
  if (ends.length === 0) return []
  const conditions = ends.map(({ column, ms }) => sql<boolean>`${column} < ${ago(ms)}`)
  const until = ago(Math.min(...ends.map(({ ms }) => ms)))
  return [{ by: 'walk', table: 'sessions', stale: sql`(${sql.join(conditions, sql` OR `)})`, until }]
}

/** Deletes at most 100 rows. Leaves locked rows for the next batch. */
async function runBatch(db: Kysely<AuthDatabase>, sweep: Sweep, after: Cursor | undefined): Promise<Batch> {
  if (sweep.by === 'walk') return runWalkBatch(db, sweep, after)
  const { numAffectedRows } = await indexStatement(sweep).execute(db)
  const removed = Number(numAffectedRows ?? 0n)
  const isFull = removed === ROWS_MAX
  return { removed, isFull, next: isFull ? FRONT : undefined }
}

async function runWalkBatch(db: Kysely<AuthDatabase>, sweep: Walk, after: Cursor | undefined): Promise<Batch> {
  const { rows } = await walkStatement(sweep, after ?? START[sweep.table]).execute(db)
  const [row] = rows
  if (!row) return { removed: 0, isFull: false, next: undefined }
  return { removed: row.removed, isFull: row.is_full, next: row.goes_on ? row.last_id : undefined }
}

/** The statement of a batch, for tests of its plan. */
export function batchStatement(sweep: Sweep): RawBuilder<unknown> {
  return sweep.by === 'index' ? indexStatement(sweep) : walkStatement(sweep, START[sweep.table])
}

function indexStatement({ table, column, stale }: Extract<Sweep, { by: 'index' }>): RawBuilder<unknown> {
  return sql`DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${sql.table(table)} WHERE ${stale}
    ORDER BY ${sql.ref(column)} LIMIT ${sql.lit(ROWS_MAX)} FOR UPDATE SKIP LOCKED))`
}

type Walk = Extract<Sweep, { by: 'walk' }>

interface WalkRow {
  readonly removed: number
  readonly is_full: boolean
  readonly last_id: string
  readonly goes_on: boolean
}

/** The next batch continues after the last row that this one deleted, or, if this one was not full, after the last row it read. */
function walkStatement({ table, stale, until }: Walk, after: Cursor): RawBuilder<WalkRow> {
  return sql`
    WITH seen AS MATERIALIZED (
      SELECT id, ${startedAt} AS created_at, ${stale} AS is_stale FROM ${sql.table(table)}
      WHERE id > ${after} ORDER BY id LIMIT ${sql.lit(SEEN_MAX)}
    ), found AS MATERIALIZED (
      SELECT id FROM seen WHERE is_stale ORDER BY id LIMIT ${sql.lit(ROWS_MAX)}
    ), gone AS (
      DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${sql.table(table)} WHERE id = ANY (ARRAY(SELECT id FROM found)) AND ${stale}
        FOR UPDATE SKIP LOCKED)) RETURNING 1
    ), counts AS (
      SELECT (SELECT count(*)::int FROM gone) AS removed, (SELECT count(*) FROM found) = ${sql.lit(ROWS_MAX)} AS is_full,
        (SELECT count(*) FROM seen) = ${sql.lit(SEEN_MAX)} AS saw_all_it_may
    )
    SELECT removed, is_full, id::text AS last_id, is_full OR (saw_all_it_may AND created_at < ${until}) AS goes_on
    FROM seen, counts WHERE NOT is_full OR id IN (SELECT id FROM found) ORDER BY id DESC LIMIT 1`
}
