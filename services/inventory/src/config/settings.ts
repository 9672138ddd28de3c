import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { shutdownSettings, telemetrySettings } from '@trestle/common/config/process-settings.ts'
import { commaList, flag, integer, parsed, port, text, trustedProxies, url } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { namesLoopback } from '@trestle/common/outbound/address-rules.ts'
import type { TrustedProxies } from '@trestle/common/server/trusted-proxies.ts'
import { operatorSettings } from '@trestle/operators/operator-settings.ts'
import { limitStoreSettings } from '@trestle/rate-limits/limit-settings.ts'
import { databaseSettings, databaseUrl, standbySettings } from '@trestle/service/database-settings.ts'
import { parseRoleScopes } from '../access/actor.ts'
import type { TokenRules } from '../access/token-verifier.ts'

export const PREFIX = 'INVENTORY_'

/** The settings that decide who may call: tokens, their keys and their roles. */
const accessSettings = group('Access', {
  AUTH_ENABLED: flag()
    .prefault('false')
    .describe(
      'Callers need access tokens of the authentication service. While this is false, every client may do everything.',
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

/** A service that checks tokens needs their issuer, audience and keys. */
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
 * Warns if authentication is off and other machines can reach the service, or if token settings are unused. There is no warning
 * if the service listens only on loopback, as with `npm start`.
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
    `${PREFIX}AUTH_ENABLED is false, so anyone who reaches the service may read and change everything: ${reasons.join(', ')}`,
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

const BODY_BYTES_MAX = 104_857_600
const LIMIT_MAX = 10_000

const limitSettings = group('Limits', {
  RATE_LIMIT: integer(0, 1_000_000).prefault('0').describe('Requests of an address in a minute. 0 lifts the limit.'),
  ...limitStoreSettings,
  MAX_LIMIT: integer(1, LIMIT_MAX).prefault('500').describe('Most products of a page.'),
  MAX_BODY_BYTES: integer(1, BODY_BYTES_MAX, 'bytes').prefault('1048576').describe('Largest body of a request.'),
  IMPORT_MAX_BYTES: integer(1, undefined, 'bytes')
    .prefault('268435456')
    .describe('Largest file of an import over HTTP.'),
})

const HOUR_MS = 3_600_000

const processSettings = group('Address and process', {
  PORT: port()
    .prefault('8080')
    .meta({ aliases: ['PORT'], description: 'Port of the API. 0 takes a free one.' }),
  HOST: text().prefault('127.0.0.1').describe('Address to bind.'),
  TRUSTED_PROXIES: trustedProxies()
    .prefault('0')
    .describe(
      'Proxies in front of the service that append to X-Forwarded-For: how many there are, or their addresses and networks, such as `10.0.0.0/8,fd00::/8`. The header is read from the right, as far as the proxies go. With 0, the address of the connection counts.',
    ),
  CORS_ORIGINS: origins().default([]).describe('Origins whose pages may call the service, or `*`. Default: none.'),
  ...shutdownSettings,
})

const storageSettings = group('Database', {
  DATABASE_URL: databaseUrl().meta({ aliases: ['DATABASE_URL'], description: 'Connection of the service.' }),
  ...databaseSettings,
  DB_NAMESPACE: databaseSettings.DB_NAMESPACE.describe('Prefix of the names of all tables, indexes and functions.'),
  ...standbySettings,
  DB_POOL_SIZE: integer(0, 1_000)
    .prefault('16')
    .describe(
      'Connections for writes. 0 means 16; more than 32 are slower. One client, by `sub` or else by address, gets three quarters of them at a time; its writes that get none within five seconds are answered 503. Lists have four connections of their own.',
    ),
  DB_STATEMENT_TIMEOUT_MS: integer(1, HOUR_MS, 'milliseconds')
    .prefault('5000')
    .describe(
      'Longest time that a statement may take, except statements of imports and exports. A request waits as long for a connection, and at least 5000.',
    ),
  MIGRATE: flag().prefault('true').describe('Migrate the database at start. false leaves that to `inventory migrate`.'),
})

const observationSettings = group('Logs, traces and metrics', {
  LOG_FILE: text().prefault('logs/app.log').describe('File that log lines are appended to.'),
  LOG_STDOUT: flag().prefault('true').describe('Write the log lines to standard output too.'),
  ...telemetrySettings({ metrics: 'true', exporter: 'prometheus', host: '0.0.0.0', port: '9102' }),
})

const stockSettings = group('Products and stock', {
  REQUIRE_IF_MATCH: flag()
    .prefault('false')
    .describe('Answer 428 to changes of products and locations that carry no If-Match.'),
})

export const settings = {
  ...processSettings,
  ...storageSettings,
  ...observationSettings,
  ...accessSettings,
  ...group('Operators', operatorSettings),
  ...limitSettings,
  ...stockSettings,
} as const

/** Accepts `*`, or origins in the form of browsers. */
function origins() {
  const isOrigin = (word: string) => word === '*' || URL.parse(word)?.origin === word
  return commaList()
    .refine((words) => words.every(isOrigin), 'must be * or origins such as https://a.example')
    .meta({ form: 'list of origins' })
}
