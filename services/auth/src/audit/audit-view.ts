import { z } from 'zod'
import type { Timestamp } from '../timestamp.ts'

/** An entry of the audit log as clients see it (reference: Audit log). */
export const auditEntryViewSchema = z.object({
  id: z.guid(),
  payload: z
    .record(z.string(), z.unknown())
    .meta({ description: 'actor_id, actor_username, action, log_type, traits …' }),
  created_at: z.string().meta({ format: 'date-time', example: '2026-01-02T03:04:05.123456+00:00' }),
  ip_address: z.string(),
})

export type AuditEntryView = z.output<typeof auditEntryViewSchema>

/** An entry of the audit log. */
export interface AuditEntry {
  readonly id: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly createdAt: Timestamp
  /** Empty when it is not known. */
  readonly ipAddress: string
}

export function toAuditEntryView({ id, payload, createdAt, ipAddress }: AuditEntry): AuditEntryView {
  return { id, payload: { ...payload }, created_at: createdAt, ip_address: ipAddress }
}
