import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import type { Db } from '../database.ts'
import { countAll, countFound } from '../pagination/count-rows.ts'
import type { Timestamp } from '../records/timestamp.ts'
import { auditQueryMalformed } from '../request-errors.ts'

/** A page of the audit log. `offset` is a number of entries. If `filter` is `undefined`, all entries are listed. */
interface AuditList {
  readonly filter: AuditFilter | undefined
  readonly limit: number
  readonly offset: number
}

/** Lists entries of the audit log, newest first. */
export async function listAuditEntries(db: Db, { filter, limit, offset }: AuditList): Promise<AuditEntry[]> {
  const { rows } = await sql<AuditEntry>`
    SELECT id, payload, created_at AS "createdAt", ip_address AS "ipAddress" ${fromMatchingEntries(filter)}
    ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`.execute(db)
  return rows
}

/** Counts entries. The count is exact if there are few. */
export function countAuditEntries(db: Db, filter: AuditFilter | undefined): Promise<number> {
  return filter === undefined ? countAll(db, fromMatchingEntries(filter)) : countFound(db, fromMatchingEntries(filter))
}

const SEARCHED: Readonly<Record<AuditFilter['scope'], RawBuilder<string>>> = {
  author: sql`concat(payload ->> 'actor_username', chr(31), payload ->> 'actor_name')`,
  action: sql`action`,
  type: sql`log_type`,
}

function fromMatchingEntries(filter: AuditFilter | undefined): RawBuilder<unknown> {
  const from = sql`FROM ${sql.table('audit_log_entries')}`
  return filter === undefined
    ? from
    : sql`${from} WHERE strpos(lower(${SEARCHED[filter.scope]}), lower(${filter.text}::text)) > 0`
}

/** An entry of the audit log as clients see it (reference: Audit log). */
export const AuditEntryView = z
  .object({
    id: z.guid(),
    payload: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What was done and by whom: actor_id, actor_username, action, log_type, traits …' }),
    created_at: z.string().meta({ format: 'date-time', example: '2026-01-02T03:04:05.123456+00:00' }),
    ip_address: z.string(),
  })
  .meta({ id: 'AuditEntry' })

export type AuditEntryView = z.output<typeof AuditEntryView>

/** An entry of the audit log as stored in the table. Clients see `payload` unchanged. */
export interface AuditEntry {
  readonly id: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly createdAt: Timestamp
  /** Empty if the address is unknown. */
  readonly ipAddress: string
}

export function viewAuditEntry({ id, payload, createdAt, ipAddress }: AuditEntry): AuditEntryView {
  return { id, payload: { ...payload }, created_at: createdAt, ip_address: ipAddress }
}

const AUDIT_SCOPES = ['author', 'action', 'type'] as const

/** The filter of `query=<scope>:<text>` (reference: Audit log). */
interface AuditFilter {
  readonly scope: (typeof AUDIT_SCOPES)[number]
  /** A part of the searched value, ignoring case. */
  readonly text: string
}

/** Parses `author:x`, `action:x` or `type:x`. Returns `undefined`, which lists all entries, if there is no query. */
export function parseAuditQuery(query: string | undefined): AuditFilter | undefined {
  if (query === undefined) return undefined
  const [, name, text] = /^([^:]*):(.*)$/s.exec(query) ?? []
  const scope = AUDIT_SCOPES.find((known) => known === name)
  if (scope === undefined || text === undefined) throw auditQueryMalformed({ query })
  return { scope, text }
}
