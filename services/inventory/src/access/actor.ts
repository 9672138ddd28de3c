import { createHash } from 'node:crypto'
import type { EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import type { Operator } from '@trestle/operators/operator.ts'
import { z } from 'zod'
import { idempotencyKeyMalformed, idempotencyKeyMissing } from '../errors.ts'
import type { Caller } from '../idempotency/idempotent-request.ts'

export interface Identity {
  /** The `sub` of the access token. */
  readonly actor: string
  readonly scopes: ReadonlySet<Scope>
}

export interface OperatorIdentity extends Pick<Identity, 'actor'> {
  readonly operator: Operator
}

/** Returns the `sub` of the request's access token, or `null` if authentication is off. */
export function actorOf({ identity }: { readonly identity: unknown }): string | null {
  return isIdentity(identity) ? identity.actor : null
}

/** @throws Error if no guard has identified the caller as an operator */
export function operatorOf({ identity }: { readonly identity: unknown }): Operator {
  if (!isOperatorIdentity(identity)) throw new Error('the request has no operator')
  return identity.operator
}

/** `undefined` if the caller is not an operator. */
export function findOperator({ identity }: { readonly identity: unknown }): Operator | undefined {
  return isOperatorIdentity(identity) ? identity.operator : undefined
}

function isIdentity(value: unknown): value is Pick<Identity, 'actor'> {
  return typeof value === 'object' && value !== null && 'actor' in value && typeof value.actor === 'string'
}

function isOperatorIdentity(value: unknown): value is OperatorIdentity {
  return isIdentity(value) && 'operator' in value && typeof value.operator === 'object' && value.operator !== null
}

const KEY = /^[\x21-\x7e]{1,255}$/

/**
 * Returns the sender of a request, with its Idempotency-Key.
 * @param path the path of the request; the same for every spelling of the URL
 * @param content the parsed request
 * @throws idempotencyKeyMalformed, or idempotencyKeyMissing for an operator without a key
 */
export function callerOf(request: EndpointRequest, path: string, content: unknown): Caller {
  const key = request.header('idempotency-key')
  const actor = actorOf(request)
  if (key === undefined) {
    if (findOperator(request) !== undefined) throw idempotencyKeyMissing()
    return { actor, idempotentRequest: undefined }
  }
  if (!KEY.test(key)) throw idempotencyKeyMalformed()
  const fingerprint = createHash('sha256').update(JSON.stringify(content)).digest()
  return { actor, idempotentRequest: { key, path, fingerprint } }
}

export const SCOPES = ['inventory:read', 'inventory:write'] as const
export type Scope = (typeof SCOPES)[number]

export interface ScopeRules {
  readonly adminRoles: readonly string[]
  /** The scopes of further roles. Ordinary sign-in tokens have a role but no scope. */
  readonly roleScopes: ReadonlyMap<string, readonly Scope[]>
}

/** The claims that grant scopes. `user_metadata` grants none, because users can write it. */
const Claims = z.object({
  scope: z.string().optional().catch(undefined),
  role: z.string().optional().catch(undefined),
  is_anonymous: z.boolean().optional().catch(true),
  app_metadata: z
    .object({ scopes: z.array(z.string()).optional().catch(undefined) })
    .optional()
    .catch(undefined),
})

export function scopesOf(claims: unknown, { adminRoles, roleScopes }: ScopeRules): ReadonlySet<Scope> {
  const { scope = '', role = '', is_anonymous: isAnonymous, app_metadata: metadata } = Claims.parse(claims)
  if (adminRoles.includes(role) && !isAnonymous) return new Set(SCOPES)
  const named = [...scope.split(' '), ...(metadata?.scopes ?? [])]
  const ofRole = isAnonymous ? [] : (roleScopes.get(role) ?? [])
  return new Set([...SCOPES.filter((known) => named.includes(known)), ...ofRole])
}

/** Reads `role=scope+scope,role=scope`. Returns `undefined` if it is malformed or a role occurs twice. */
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
