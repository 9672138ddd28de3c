import { z } from 'zod'

/** What a caller may do: read, or change. */
export const SCOPES = ['inventory:read', 'inventory:write'] as const
export type Scope = (typeof SCOPES)[number]

/** Who gets which scopes by role. */
export interface ScopeRules {
  /** Roles that have all of them. */
  readonly adminRoles: readonly string[]
  /** Of other roles; ordinary sign-in tokens carry a role but no scope. */
  readonly roleScopes: ReadonlyMap<string, readonly Scope[]>
}

/** Of a token. What users can set themselves, `user_metadata`, grants nothing. */
const Claims = z.object({
  scope: z.string().optional().catch(undefined),
  role: z.string().optional().catch(undefined),
  is_anonymous: z.boolean().optional().catch(true),
  app_metadata: z
    .object({ scopes: z.array(z.string()).optional().catch(undefined) })
    .optional()
    .catch(undefined),
})

/** The scopes that the claims of a verified token give (reference: Scopes). */
export function scopesOf(claims: unknown, { adminRoles, roleScopes }: ScopeRules): ReadonlySet<Scope> {
  const { scope = '', role = '', is_anonymous: isAnonymous, app_metadata: metadata } = Claims.parse(claims)
  if (adminRoles.includes(role)) return new Set(SCOPES)
  const named = [...scope.split(' '), ...(metadata?.scopes ?? [])]
  const ofRole = isAnonymous ? [] : (roleScopes.get(role) ?? [])
  return new Set([...SCOPES.filter((known) => named.includes(known)), ...ofRole])
}

/** Reads `role=scope+scope,role=scope`; undefined for what is none, and where a role comes twice. */
export function parseRoleScopes(text: string): ReadonlyMap<string, readonly Scope[]> | undefined {
  const rules = new Map<string, readonly Scope[]>()
  for (const rule of text.split(',')) {
    const [role = '', list = '', ...rest] = rule.trim().split('=')
    const named = list.split('+')
    const scopes = SCOPES.filter((known) => named.includes(known))
    if (role === '' || rules.has(role) || rest.length > 0 || scopes.length !== named.length) return undefined
    rules.set(role, scopes)
  }
  return rules
}
