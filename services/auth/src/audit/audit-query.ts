import { validationFailed } from '../errors.ts'

const AUDIT_SCOPES = ['author', 'action', 'type'] as const

/** What `query=<scope>:<text>` searches (reference: Audit log). */
export interface AuditFilter {
  readonly scope: (typeof AUDIT_SCOPES)[number]
  /** Part of what is searched, in any case. */
  readonly text: string
}

/** Reads `author:x`, `action:x` or `type:x`. Undefined is everything. @throws validationFailed */
export function parseAuditQuery(query: string | undefined): AuditFilter | undefined {
  if (query === undefined) return undefined
  const [, name, text] = /^([^:]*):(.*)$/s.exec(query) ?? []
  const scope = AUDIT_SCOPES.find((known) => known === name)
  if (scope === undefined || text === undefined) throw validationFailed({ message: `Invalid query scope: ${query}` })
  return { scope, text }
}
