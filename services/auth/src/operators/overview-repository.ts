import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import { countAll, countFound, EXACT_ROWS_MAX, estimateRows } from '../pagination/count-rows.ts'

/** How many users there are, without staged ones. */
export interface UserCounts {
  readonly total: number
  readonly confirmed: number
  readonly banned: number
  readonly anonymous: number
}

/** Counts users: exactly up to 100,000 of them, beyond that all by the planner's estimate. */
export async function countUserStates(db: Db, now: Date): Promise<UserCounts> {
  const usersWhich = (which: RawBuilder<boolean>) =>
    sql`FROM ${sql.table('users')} WHERE staged_at IS NULL AND ${which}`
  const total = await countAll(db, usersWhich(sql`true`))
  // An exact count of the few banned users would read all users.
  const count = total > EXACT_ROWS_MAX ? estimateRows : countFound
  return {
    total,
    confirmed: await count(db, usersWhich(sql`confirmed_at IS NOT NULL`)),
    banned: await count(db, usersWhich(sql`banned_until > ${now}`)),
    anonymous: await count(db, usersWhich(sql`is_anonymous`)),
  }
}

/** The numbers of sign-ups and sign-ins on a UTC day. */
export interface DayCounts {
  /** YYYY-MM-DD. */
  readonly date: string
  /** Users who were made, and are still there. */
  readonly signUps: number
  readonly signIns: number
}

const DAYS = 30

/** Counts the users and the sign-ins of the last 30 UTC days, the oldest first. The audit log knows the sign-ins. */
export async function listDayCounts(db: Db, now: Date): Promise<readonly DayCounts[]> {
  const today = now.toISOString().slice(0, 'YYYY-MM-DD'.length)
  const ofDay = sql`created_at >= day AT TIME ZONE 'UTC' AND created_at < (day + interval '1 day') AT TIME ZONE 'UTC'`
  const { rows } = await sql<DayCounts>`
    SELECT to_char(day, 'YYYY-MM-DD') AS date,
      (SELECT count(*)::int FROM ${sql.table('user_directory')} WHERE ${ofDay}) AS "signUps",
      (SELECT count(*)::int FROM ${sql.table('audit_log_entries')} WHERE action = 'login' AND ${ofDay}) AS "signIns"
    FROM generate_series(${today}::timestamp - make_interval(days => ${sql.lit(DAYS - 1)}), ${today}::timestamp,
      interval '1 day') AS day ORDER BY day`.execute(db)
  return rows
}

/** How many messages of the last 30 days wait or have failed. */
export interface MessageCounts {
  readonly waiting: number
  /** Their jobs are dead, or they are not sent (console reference: Messages of operators). */
  readonly failed: number
}

/** Counts the messages that wait, and the messages that have failed. */
export async function countUnsentMessages(db: Db): Promise<MessageCounts> {
  const { rows } = await sql<MessageCounts>`
    SELECT count(*) FILTER (WHERE status = 'waiting')::int AS waiting, count(*) FILTER (WHERE status = 'failed')::int AS failed
    FROM ${sql.table('messages')} WHERE status <> 'sent'`.execute(db)
  return rows[0] ?? { waiting: 0, failed: 0 }
}
