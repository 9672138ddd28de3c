import { type RawBuilder, sql } from 'kysely'
import type { AuditEntry } from '../audit/audit-repository.ts'
import type { Db } from '../database.ts'
import type { Cursor } from '../pagination/cursor.ts'

/** Which entries operators list, in the order of creation. An undefined filter filters nothing. */
export interface OperatorAuditList {
  /** Who did it, or to whom it was done. Leaves refreshes out. */
  readonly user: string | undefined
  /** The action of an entry; of a change of operators also without `operator.`. */
  readonly action: string | undefined
  readonly direction: 'asc' | 'desc'
  readonly limit: number
  readonly after: Cursor | undefined
}

/** Lists entries for operators, by a cursor. */
export async function listOperatorAudit(db: Db, list: OperatorAuditList): Promise<readonly AuditEntry[]> {
  const { user, action, direction, limit, after } = list
  const [order, beyond] = direction === 'asc' ? [sql.raw('ASC'), sql.raw('>')] : [sql.raw('DESC'), sql.raw('<')]
  const isAfter = after && sql`(created_at, id) ${beyond} (${after.createdAt}::timestamptz, ${after.id}::uuid)`
  const isNamed = action === undefined ? undefined : sql`action = ANY (${[action, `operator.${action}`]}::text[])`
  const page = (where: RawBuilder<unknown> | undefined) => {
    const all = [where, isAfter, isNamed].filter((condition) => condition !== undefined)
    return sql`(SELECT id, payload, created_at, ip_address FROM ${sql.table('audit_log_entries')}
      WHERE ${all.length === 0 ? sql`true` : sql.join(all, sql` AND `)} ORDER BY created_at ${order}, id ${order} LIMIT ${limit})`
  }
  const ofUser = sql`target_user_id = ${user}::uuid AND log_type <> 'token'`
  const byUser = sql`actor_id = ${user}::uuid AND actor_id <> target_user_id`
  // Each branch reads an index of its own.
  const found = user === undefined ? page(undefined) : sql`${page(ofUser)} UNION ALL ${page(byUser)}`
  const { rows } = await sql<AuditEntry>`
    SELECT id, payload, created_at AS "createdAt", ip_address AS "ipAddress" FROM (${found}) AS found
    ORDER BY created_at ${order}, id ${order} LIMIT ${limit}`.execute(db)
  return rows
}
