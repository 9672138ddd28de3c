import { type RawBuilder, sql } from 'kysely'
import type { AuditEntry } from '../audit/audit-repository.ts'
import type { Db } from '../database.ts'
import type { Cursor } from '../pagination/cursor.ts'

/** The entries that operators list, in the order of creation. An undefined filter filters nothing. */
export interface OperatorAuditList {
  /** The user who acted, or on whose account somebody acted. Leaves refreshes out. */
  readonly user: string | undefined
  /** The action of an entry; of a change of operators also without `operator.`. */
  readonly action: string | undefined
  readonly direction: 'asc' | 'desc'
  readonly limit: number
  readonly after: Cursor | undefined
}

/** Lists entries for operators by their time, then by id, in the direction of the list: at most `limit` after the cursor. */
export async function listOperatorAudit(db: Db, list: OperatorAuditList): Promise<readonly AuditEntry[]> {
  const { rows } = await operatorAuditStatement(list).execute(db)
  return rows
}

/** The statement that lists entries. Each of its branches reads an index of its own. */
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

/** The conditions for entries about a user: what was done to them, and what they did to others. */
function ofUser(user: string): readonly (readonly Condition[])[] {
  return [
    [sql`target_user_id = ${user}::uuid`, sql`log_type <> 'token'`],
    [sql`actor_id = ${user}::uuid`, sql`actor_id <> target_user_id`],
  ]
}

/** The many actions, which the index of actions leaves out. They are found by their time. */
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
