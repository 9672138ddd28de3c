import { type RawBuilder, sql } from 'kysely'
import type { AuditEntry } from '../audit/audit-repository.ts'
import type { Db } from '../database.ts'
import { countAll, countFound, EXACT_ROWS_MAX, estimateRows } from '../pagination/count-rows.ts'
import type { Cursor } from '../pagination/page-query.ts'

/** A list of entries for operators, in the order of creation. An `undefined` filter does not filter. */
interface OperatorAuditList {
  /** The user who acted, or whose account was changed. Excludes token refreshes. */
  readonly user: string | undefined
  /** The action of an entry. For operator changes, the prefix `operator.` is optional. */
  readonly action: string | undefined
  readonly direction: 'asc' | 'desc'
  readonly limit: number
  readonly after: Cursor | undefined
}

/** Lists at most `limit` entries after the cursor, by time and id, in the direction of the list. */
export async function listOperatorAudit(db: Db, list: OperatorAuditList): Promise<readonly AuditEntry[]> {
  const { rows } = await operatorAuditStatement(list).execute(db)
  return rows
}

/** The statement that lists entries. Each of its branches reads its own index. */
export function operatorAuditStatement({ user, action, ...place }: OperatorAuditList): RawBuilder<AuditEntry> {
  const { direction, limit } = place
  const order = direction === 'asc' ? sql.raw('ASC') : sql.raw('DESC')
  const branches = user === undefined ? [[]] : ofUser(user)
  const named = action === undefined ? [[]] : hasAction(action)
  const pages = branches.flatMap((branch) => named.map((name) => page(place, [...branch, ...name])))
  return sql<AuditEntry>`
    SELECT id, payload, created_at AS "createdAt", ip_address AS "ipAddress"
    FROM (${sql.join(pages, sql` UNION ALL `)}) AS found
    ORDER BY created_at ${order}, id ${order} LIMIT ${limit}`
}

type Condition = RawBuilder<unknown>

/** Conditions for entries about a user: actions on the user, and actions by the user. */
function ofUser(user: string): readonly (readonly Condition[])[] {
  return [
    [sql`target_user_id = ${user}::uuid`, sql`log_type <> 'token'`],
    [sql`actor_id = ${user}::uuid`, sql`actor_id <> target_user_id`],
  ]
}

/** Frequent actions. The index of actions omits them, so they are found by time. */
const MANY = new Set(['login', 'token_revoked', 'token_refreshed'])
const NOT_MANY = sql`action NOT IN ('login', 'token_revoked', 'token_refreshed')`

function hasAction(action: string): readonly (readonly Condition[])[] {
  const own: readonly Condition[] = MANY.has(action)
    ? [sql`action = ${sql.lit(action)}`]
    : [sql`action = ${action}`, NOT_MANY]
  return [own, [sql`action = ${`operator.${action}`}`, NOT_MANY]]
}

function page(
  { direction, limit, after }: Pick<OperatorAuditList, 'direction' | 'limit' | 'after'>,
  conditions: readonly Condition[],
): RawBuilder<unknown> {
  const [order, beyond] = direction === 'asc' ? [sql.raw('ASC'), sql.raw('>')] : [sql.raw('DESC'), sql.raw('<')]
  const isAfter = after && sql`(created_at, id) ${beyond} (${after.createdAt}::timestamptz, ${after.id}::uuid)`
  const all = isAfter === undefined ? conditions : [...conditions, isAfter]
  return sql`(SELECT id, payload, created_at, ip_address FROM ${sql.table('audit_log_entries')}
    WHERE ${all.length === 0 ? sql`true` : sql.join(all, sql` AND `)} ORDER BY created_at ${order}, id ${order} LIMIT ${limit})`
}

/** The numbers of users, without pending sign-ups. */
export interface UserCounts {
  readonly total: number
  readonly confirmed: number
  readonly banned: number
  readonly anonymous: number
}

/** Counts users exactly up to 100,000. Above that, all numbers are planner estimates. */
export async function countUserStates(db: Db, now: Date): Promise<UserCounts> {
  const usersWhich = (which: RawBuilder<boolean>) =>
    sql`FROM ${sql.table('users')} WHERE staged_at IS NULL AND ${which}`
  const total = await countAll(db, usersWhich(sql`true`))
  // An exact count of banned users would read all users.
  const count = total > EXACT_ROWS_MAX ? estimateRows : countFound
  return {
    total,
    confirmed: await count(db, usersWhich(sql`confirmed_at IS NOT NULL`)),
    banned: await count(db, usersWhich(sql`banned_until > ${now}`)),
    anonymous: await count(db, usersWhich(sql`is_anonymous`)),
  }
}

export interface DayCounts {
  /** YYYY-MM-DD. */
  readonly date: string
  /** Users created on the day who still exist. */
  readonly signUps: number
  readonly signIns: number
}

const DAYS = 30

/** Counts users and sign-ins for the last 30 UTC days, oldest first. Sign-ins come from the audit log. */
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

/** The numbers of waiting and failed messages of the last 30 days. */
export interface MessageCounts {
  readonly waiting: number
  /** Messages with dead-letter jobs, and messages not sent (console reference: Messages of operators). */
  readonly failed: number
}

export async function countUnsentMessages(db: Db): Promise<MessageCounts> {
  const { rows } = await sql<MessageCounts>`
    SELECT count(*) FILTER (WHERE status = 'waiting')::int AS waiting, count(*) FILTER (WHERE status = 'failed')::int AS failed
    FROM ${sql.table('messages')} WHERE status <> 'sent'`.execute(db)
  return rows[0] ?? { waiting: 0, failed: 0 }
}
