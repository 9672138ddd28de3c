import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import { countAll, countFound } from '../pagination/count-rows.ts'
import type { AuditFilter } from './audit-query.ts'
import type { AuditEntry } from './audit-view.ts'

export interface AuditList {
  readonly filter: AuditFilter | undefined
  readonly limit: number
  readonly offset: number
}

/** Entries of the audit log, newest first. */
export async function listAuditEntries(
  db: Kysely<AuthDatabase>,
  { filter, limit, offset }: AuditList,
): Promise<AuditEntry[]> {
  const { rows } = await sql<AuditEntry>`
    SELECT id, payload, created_at AS "createdAt", ip_address AS "ipAddress" ${matching(filter)}
    ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`.execute(db)
  return rows
}

/** How many there are: exactly, as long as they are not many. */
export function countAuditEntries(db: Kysely<AuthDatabase>, filter: AuditFilter | undefined): Promise<number> {
  return filter === undefined ? countAll(db, matching(filter)) : countFound(db, matching(filter))
}

const SEARCHED: Readonly<Record<AuditFilter['scope'], RawBuilder<string>>> = {
  author: sql`concat(payload ->> 'actor_username', chr(31), payload ->> 'actor_name')`,
  action: sql`action`,
  type: sql`log_type`,
}

function matching(filter: AuditFilter | undefined): RawBuilder<unknown> {
  const from = sql`FROM ${sql.table('audit_log_entries')}`
  return filter === undefined
    ? from
    : sql`${from} WHERE strpos(lower(${SEARCHED[filter.scope]}), lower(${filter.text}::text)) > 0`
}
