import type { Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import { type RawBuilder, sql } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'

/** Removes what is of no more use (contract 8.3). Scheduled every minute, once among all processes. */
export const cleanUpTask = defineTask<Record<string, never>>('clean-up', {
  retryLimit: 0,
  firstDelaySeconds: 1,
  longestDelaySeconds: 1,
  timeoutSeconds: 50,
  sealed: false,
})

export const CLEAN_UP_CRON = '* * * * *'

const ROWS_MAX = 100
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const ANONYMOUS_LIFETIME_MS = 30 * DAY_MS

interface Sweep {
  readonly table: keyof AuthDatabase
  /** Column by which rows are taken, oldest first. */
  readonly order: string
  /** Undefined: the settings keep such rows for good. */
  readonly stale: RawBuilder<boolean> | undefined
}

type Deps = Pick<AuthDeps, 'config' | 'db' | 'meter' | 'now'>

/** Deletes at most 100 rows of each kind. Rows that somebody is working on are left for the next time. */
export async function cleanUp(deps: Deps, countRows: (table: string, rows: number) => void): Promise<Outcome> {
  for (const sweep of listSweeps(deps)) countRows(sweep.table, await deleteStale(deps, sweep))
  return 'done'
}

/** Counts the rows in `auth_cleanup_affected_rows_total`. */
export function createCleanUpCounter({ meter }: Pick<AuthDeps, 'meter'>): (table: string, rows: number) => void {
  const counter = meter.createCounter('auth_cleanup_affected_rows_total', { description: 'Rows removed by clean-up' })
  return (table, rows) => counter.add(rows, { table })
}

async function deleteStale({ db }: Deps, { table, order, stale }: Sweep): Promise<number> {
  if (!stale) return 0
  const { numAffectedRows } = await sql`
    DELETE FROM ${sql.table(table)} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${sql.table(table)} AS candidate WHERE ${stale}
      ORDER BY ${sql.ref(order)} LIMIT ${sql.lit(ROWS_MAX)} FOR UPDATE SKIP LOCKED))`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

function listSweeps({ config, now }: Deps): readonly Sweep[] {
  const ago = (ms: number) => new Date(now().getTime() - ms)
  const yesterday = ago(DAY_MS)
  const { mail, sms } = config
  const stagedMs = Math.max(mail.codeLifetimeSeconds, sms.codeLifetimeSeconds) * 1_000 + DAY_MS
  return [
    { table: 'refresh_tokens', order: 'id', stale: sql`revoked AND updated_at < ${yesterday}` },
    { table: 'sessions', order: 'id', stale: endedSessions(config.sessions, ago) },
    { table: 'flow_state', order: 'created_at', stale: endedFlows(yesterday, now()) },
    { table: 'mfa_factors', order: 'created_at', stale: sql`status = 'unverified' AND created_at < ${yesterday}` },
    { table: 'one_time_tokens', order: 'id', stale: sql`expires_at < ${yesterday}` },
    { table: 'send_throttle', order: 'sent_at', stale: sql`sent_at < ${yesterday}` },
    { table: 'users', order: 'staged_at', stale: sql`staged_at < ${ago(stagedMs)}` },
    { table: 'users', order: 'created_at', stale: sql`is_anonymous AND created_at < ${ago(ANONYMOUS_LIFETIME_MS)}` },
  ]
}

/**
 * Flows that nobody can finish any more. A mail's link may live longer than a day (MAILER_OTP_EXP), and the code that it
 * gives begins a time of its own.
 */
function endedFlows(yesterday: Date, now: Date): RawBuilder<boolean> {
  return sql`created_at < ${yesterday} AND coalesce(auth_code_issued_at, created_at) < ${yesterday}
    AND NOT EXISTS (SELECT FROM ${sql.table('one_time_tokens')} t
      WHERE t.user_id = candidate.user_id AND t.flow_state_id = candidate.id AND t.expires_at > ${now})`
}

/** Sessions that could not be refreshed any more a day ago. */
function endedSessions(
  { timeboxMs, inactivityTimeoutMs }: AuthDeps['config']['sessions'],
  ago: (ms: number) => Date,
): RawBuilder<boolean> {
  const ends = [sql<boolean>`not_after < ${ago(DAY_MS)}`]
  if (timeboxMs !== undefined) ends.push(sql`created_at < ${ago(DAY_MS + timeboxMs)}`)
  if (inactivityTimeoutMs !== undefined) {
    ends.push(sql`coalesce(refreshed_at, created_at) < ${ago(DAY_MS + inactivityTimeoutMs)}`)
  }
  return sql`(${sql.join(ends, sql` OR `)})`
}
