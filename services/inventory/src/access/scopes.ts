import { z } from 'zod'

/** A permission of a token (reference: Scopes). */
export const SCOPES = ['inventory:read', 'inventory:write'] as const
/** A right that a token gives (reference: Authentication). */
export type Scope = (typeof SCOPES)[number]

/** The scopes that a token has by its role. */
export interface ScopeRules {
  /** Roles that have every scope. */
  readonly adminRoles: readonly string[]
  /** Scopes of other roles. Ordinary sign-in tokens carry a role but no scope. */
  readonly roleScopes: ReadonlyMap<string, readonly Scope[]>
}

/** The claims that give scopes. `user_metadata` gives none, because users can set it. */
const Claims = z.object({
  scope: z.string().optional().catch(undefined),
  role: z.string().optional().catch(undefined),
  is_anonymous: z.boolean().optional().catch(true),
  app_metadata: z
    .object({ scopes: z.array(z.string()).optional().catch(undefined) })
    .optional()
    .catch(undefined),
})

/** The scopes that the claims of a verified token give. */
export function scopesOf(claims: unknown, { adminRoles, roleScopes }: ScopeRules): ReadonlySet<Scope> {
  const { scope = '', role = '', is_anonymous: isAnonymous, app_metadata: metadata } = Claims.parse(claims)
  if (adminRoles.includes(role) && !isAnonymous) return new Set(SCOPES)
  const named = [...scope.split(' '), ...(metadata?.scopes ?? [])]
  const ofRole = isAnonymous ? [] : (roleScopes.get(role) ?? [])
  return new Set([...SCOPES.filter((known) => named.includes(known)), ...ofRole])
}

/** Reads `role=scope+scope,role=scope`. Undefined for a malformed text, and for a role that comes twice. */
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
