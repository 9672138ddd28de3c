import { auditQueryMalformed } from '../request-errors.ts'

const AUDIT_SCOPES = ['author', 'action', 'type'] as const

/** The filter of `query=<scope>:<text>` (reference: Audit log). */
export interface AuditFilter {
  readonly scope: (typeof AUDIT_SCOPES)[number]
  /** Part of the searched value, in upper or lower case. */
  readonly text: string
}

/** Parses `author:x`, `action:x` or `type:x`. Undefined lists all entries. @throws auditQueryMalformed */
export function parseAuditQuery(query: string | undefined): AuditFilter | undefined {
  if (query === undefined) return undefined
  const [, name, text] = /^([^:]*):(.*)$/s.exec(query) ?? []
  const scope = AUDIT_SCOPES.find((known) => known === name)
  if (scope === undefined || text === undefined) throw auditQueryMalformed({ query })
  return { scope, text }
}
