import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { commaList, flag, parsed, text, url } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { namesLoopback } from '@trestle/common/outbound/address-rules.ts'
import type { TrustedProxies } from '@trestle/common/server/trusted-proxies.ts'
import { parseRoleScopes } from '../access/actor.ts'
import type { TokenRules } from '../access/token-verifier.ts'

export const PREFIX = 'INVENTORY_'

/** The settings that say who may call: tokens, their keys and their roles. */
export const accessSettings = group('Access', {
  AUTH_ENABLED: flag()
    .prefault('false')
    .describe(
      'Callers need access tokens of the authentication service. While this is false, everybody may do everything.',
    ),
  AUTH_JWKS_URL: url()
    .optional()
    .describe('Where the authentication service publishes its keys. Required with `INVENTORY_AUTH_ENABLED`.'),
  AUTH_ISSUER: text().optional().describe('The `iss` of access tokens. Required with `INVENTORY_AUTH_ENABLED`.'),
  AUTH_AUDIENCE: text().optional().describe('The `aud` of access tokens. Required with `INVENTORY_AUTH_ENABLED`.'),
  AUTH_ADMIN_ROLES: commaList().default([]).describe('Roles that may do everything.'),
  AUTH_ROLE_SCOPES: roleScopes()
    .default(new Map())
    .describe('Scopes of other roles, such as `authenticated=inventory:read+inventory:write`.'),
})

type AccessValues = SettingValues<typeof accessSettings>

/** A service that checks tokens must know who signs them, and for whom. */
export const accessRules: readonly Rule<AccessValues>[] = (
  ['AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE'] as const
).map(
  (name) => (values) =>
    values.AUTH_ENABLED && values[name] === undefined
      ? `${PREFIX}${name} is required when ${PREFIX}AUTH_ENABLED is true`
      : undefined,
)

export function toAccess(values: AccessValues): TokenRules | undefined {
  const { AUTH_ENABLED, AUTH_JWKS_URL: jwksUrl, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience } = values
  if (!AUTH_ENABLED || jwksUrl === undefined || issuer === undefined || audience === undefined) return undefined
  return { jwksUrl, issuer, audience, adminRoles: values.AUTH_ADMIN_ROLES, roleScopes: values.AUTH_ROLE_SCOPES }
}

interface ReachValues {
  readonly HOST: string
  readonly TRUSTED_PROXIES: TrustedProxies
}

/**
 * Warns if authentication is off and the service is reachable from other machines, or if token settings are unused. No
 * warning while the service listens on loopback only: `npm start` runs it so.
 */
export function openDoorWarnings(values: AccessValues & ReachValues): readonly string[] {
  const reasons = [
    ...(namesLoopback(values.HOST) ? [] : [`${PREFIX}HOST lets other machines in`]),
    ...(trustsNobody(values.TRUSTED_PROXIES)
      ? []
      : [`${PREFIX}TRUSTED_PROXIES says that clients come through proxies`]),
    ...givenTokenRules(values).map((name) => `${name} has no effect`),
  ]
  if (values.AUTH_ENABLED || reasons.length === 0) return []
  return [
    `${PREFIX}AUTH_ENABLED is false, so whoever reaches the service may read and change everything: ${reasons.join(', ')}`,
  ]
}

function trustsNobody(trusted: TrustedProxies): boolean {
  return typeof trusted === 'number' ? trusted === 0 : trusted.length === 0
}

function givenTokenRules(values: AccessValues): readonly string[] {
  const isGiven = {
    AUTH_JWKS_URL: values.AUTH_JWKS_URL !== undefined,
    AUTH_ISSUER: values.AUTH_ISSUER !== undefined,
    AUTH_AUDIENCE: values.AUTH_AUDIENCE !== undefined,
    AUTH_ADMIN_ROLES: values.AUTH_ADMIN_ROLES.length > 0,
    AUTH_ROLE_SCOPES: values.AUTH_ROLE_SCOPES.size > 0,
  }
  return Object.entries(isGiven).flatMap(([name, is]) => (is ? [PREFIX + name] : []))
}

function roleScopes() {
  const problem = 'must be role=scope+scope,… with inventory:read and inventory:write, each role once'
  return parsed({ form: 'list of `role=scope+scope`', problem }, parseRoleScopes)
}
