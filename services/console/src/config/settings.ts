import { shutdownSettings, telemetrySettings } from '@trestle/common/config/process-settings.ts'
import {
  flag,
  parsed,
  port,
  type Setting,
  secretBytes,
  text,
  trustedProxies,
  url,
} from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { z } from 'zod'

export const PREFIX = 'CONSOLE_'

/** The operator keys by role. A role without a key cannot use the service. */
export type RoleKeys = ReadonlyMap<OperatorRole, string>

const processSettings = group('Address and process', {
  PORT: port()
    .prefault('8084')
    .meta({ aliases: ['PORT'], description: 'Port of the pages. 0 takes a free one.' }),
  HOST: text().prefault('127.0.0.1').describe('Address to bind.'),
  BASE_URL: url()
    .prefault('http://localhost:8084')
    .describe(
      'The address of the console in browsers. Forms are taken from this origin only. Except on this machine it must be https, because the cookie of a session is sent over nothing else.',
    ),
  TRUSTED_PROXIES: trustedProxies()
    .prefault('0')
    .describe(
      'Proxies in front of the console that append to X-Forwarded-For: how many there are, or their addresses and networks. With 0, the address of the connection counts.',
    ),
  ...shutdownSettings,
})

const serviceSettings = group('Services', {
  AUTH_URL: url().describe('Auth, where operators sign in.'),
  PAYMENTS_URL: url().optional().describe('Payments. Without it there are no pages of payments.'),
  INVENTORY_URL: url().optional().describe('Inventory. Without it there are no pages of inventory.'),
  AUTH_KEYS: roleKeys().describe(
    'Operator keys of auth, one for each role: `viewer:KEY,support:KEY,admin:KEY`. Auth knows their digests, `AUTH_OPERATOR_KEYS`.',
  ),
  PAYMENTS_KEYS: roleKeys().optional().describe('The same for payments. Required with `CONSOLE_PAYMENTS_URL`.'),
  INVENTORY_KEYS: roleKeys().optional().describe('The same for inventory. Required with `CONSOLE_INVENTORY_URL`.'),
})

const SECRET_BYTES = 32

const sessionSettings = group('Sessions', {
  SECRET: secretList().describe(
    'Encrypts cookies: 32 random bytes as base64. Several, separated by commas, replace one another: the first encrypts, all decrypt.',
  ),
  REQUIRE_MFA: flag()
    .prefault('true')
    .describe(
      'Each sign-in needs a code of an authenticator app. Operators without an app set one up at the first sign-in.',
    ),
})

const {
  METRICS_ENABLED,
  METRICS_EXPORTER,
  DOCS_ENABLED: _docs,
  ...otherTelemetry
} = telemetrySettings({
  metrics: 'false',
  exporter: 'prometheus',
  host: '0.0.0.0',
  port: '9103',
})

const observationSettings = group('Logs, traces and metrics', { METRICS_ENABLED, METRICS_EXPORTER, ...otherTelemetry })

export const settings = {
  ...processSettings,
  ...serviceSettings,
  ...sessionSettings,
  ...observationSettings,
} as const

/** A setting `role:key,…`. Each role may occur once. */
function roleKeys(): Setting<RoleKeys> & z.ZodType<RoleKeys, string> {
  const problem =
    'must be role:key,… with roles viewer, support and admin, each at most once, and keys of 32 or more characters of base64url'
  return parsed({ form: 'list of `role:key`', secret: true, problem }, (value) => {
    const pairs = value.split(',').map((entry) => /^(\w+):([\w-]{32,})$/.exec(entry.trim()) ?? [])
    const keys = pairs.flatMap(([, word, key = '']) =>
      OPERATOR_ROLES.filter((role) => role === word).map((role) => [role, key] as const),
    )
    const roles = new Map(keys)
    return keys.length === pairs.length && roles.size === keys.length ? roles : undefined
  })
}

/** A setting with secrets of at least 32 bytes in base64, separated by commas. */
function secretList(): z.ZodType<readonly Buffer[], string> {
  const one = secretBytes(SECRET_BYTES)
  const problem = 'must be base64 of at least 32 bytes; several are joined by commas'
  return parsed({ form: 'list of base64', allowed: 'at least 32 bytes each', secret: true, problem }, (value) => {
    const read = value.split(',').map((word) => one.safeParse(word.trim()))
    return read.every(({ success }) => success) ? read.flatMap(({ data }) => data ?? []) : undefined
  })
}
