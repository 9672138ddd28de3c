import type { SettingValues } from '@trestle/common/config/load-config.ts'
import {
  shutdownSettings,
  type TelemetryConfig,
  telemetrySettings,
  toTelemetryConfig,
} from '@trestle/common/config/process-settings.ts'
import {
  commaList,
  duration,
  flag,
  integer,
  matching,
  oneOf,
  port,
  secret,
  text,
  trustedProxies,
  url,
} from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import type { TrustedProxies } from '@trestle/common/server/trusted-proxies.ts'
import { NAMESPACE_PATTERN } from '@trestle/database/names.ts'
import {
  databaseSettings as commonSettings,
  type DatabaseSettings,
  databaseUrl,
  toConnectTimeoutMs,
  toPoolSize,
} from '@trestle/service/database-settings.ts'
import type { CompatibilityOptions } from './compatibility.ts'
import { absoluteUri, globList, retention } from './rules.ts'

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/

const addressSettings = group('Address and process', {
  SITE_URL: absoluteUri().describe('Where users come back to. Redirects to its host are allowed.'),
  URI_ALLOW_LIST: globList()
    .default([])
    .describe('Further addresses that users may be redirected to. In the strict profile, whole addresses.'),
  // A query or a fragment is not allowed, because paths of links are appended to the URL.
  API_EXTERNAL_URL: url()
    .refine((value) => !/[?#]/.test(value), { error: 'must be a URL without query and fragment' })
    .meta({
      aliases: ['API_EXTERNAL_URL'],
      description: "The service's own public address: the base of links in mails, and the issuer of tokens.",
    }),
  API_HOST: text().prefault('0.0.0.0').describe('Address to bind.'),
  API_PORT: port()
    .prefault('8081')
    .meta({ aliases: ['AUTH_PORT', 'PORT'], description: 'Port of the API. 0 takes a free one.' }),
  API_MAX_REQUEST_DURATION: duration().prefault('10s').describe('Longest time that a request may take.'),
  ...shutdownSettings,
  REQUEST_ID_HEADER: matching(HEADER_NAME, 'the name of a header')
    .optional()
    .meta({ aliases: ['REQUEST_ID_HEADER'], description: 'Header of a request whose value becomes the request id.' }),
  MAILER_EXTERNAL_HOSTS: commaList()
    .default([])
    .describe(
      'Hosts that may stand in the links of mails in place of that of `AUTH_API_EXTERNAL_URL`, when the request names them in X-Forwarded-Host or Host.',
    ),
  CORS_ALLOWED_HEADERS: commaList().default([]).describe('Headers that browsers may send, beside the built-in list.'),
  TRUSTED_PROXIES: trustedProxies()
    .optional()
    .describe(
      'Proxies in front of the service that append to X-Forwarded-For: how many there are, or their addresses and networks, such as `10.0.0.0/8,fd00::/8`. The header is read from the right, as far as the proxies go. Default: none; the address of the connection counts, and requests are not limited. In the profile supabase, a peer on a private network is then trusted for one hop.',
    ),
  SECURITY_FORWARDED_FOR_ENABLED: flag()
    .prefault('false')
    .describe("Trust the header Auth-Forwarded-For for the client's address."),
  SECURITY_SB_FORWARDED_FOR_ENABLED: flag()
    .prefault('false')
    .describe(
      "Trust the header Sb-Forwarded-For for the client's address, as supabase/auth does. Auth-Forwarded-For comes first.",
    ),
})

const telemetry = telemetrySettings({ metrics: 'false', exporter: 'opentelemetry', host: '0.0.0.0', port: '9100' })

const observationSettings = group('Logs, traces and metrics', {
  LOG_FILE: text().optional().describe('File that log lines are appended to, beside standard output.'),
  ...telemetry,
  METRICS_ENABLED: telemetry.METRICS_ENABLED.describe(
    'Count and time requests, queries and jobs. `npm start` and Docker Compose switch it on.',
  ),
  TRACING_EXPORTER: oneOf('opentelemetry').prefault('opentelemetry').describe('How traces are exported.'),
  OTEL_SERVICE_NAME: text()
    .prefault('auth')
    .meta({
      aliases: ['AUTH_TRACING_SERVICE_NAME', 'OTEL_SERVICE_NAME'],
      description: 'Name of the service in traces and metrics.',
    }),
})

export const serverSettings = { ...addressSettings, ...observationSettings } as const

/** Settings of supabase/auth that have no effect here (docs/settings/auth.md). */
export const settingsWithoutEffect = group(
  { title: 'Without effect', about: 'Taken from configurations of supabase/auth, and ignored with a warning.' },
  {
    MULTI_INSTANCE_MODE: text().optional().describe('Ignored.'),
    OPERATOR_TOKEN: secret().optional().describe('Ignored.'),
    API_ENDPOINT: text().optional().describe('Ignored.'),
    JWT_ADMIN_GROUP_NAME: text().optional().describe('Ignored.'),
  },
)

/** Headers that may contain the client's address, by the setting that makes them trusted. The first takes precedence. */
const ADDRESS_HEADERS = {
  SECURITY_FORWARDED_FOR_ENABLED: 'auth-forwarded-for',
  SECURITY_SB_FORWARDED_FOR_ENABLED: 'sb-forwarded-for',
} as const

const ADDRESS_SETTINGS = ['SECURITY_FORWARDED_FOR_ENABLED', 'SECURITY_SB_FORWARDED_FOR_ENABLED'] as const

type ServerValues = SettingValues<typeof serverSettings>

export interface ServerConfig extends TelemetryConfig {
  readonly host: string
  readonly port: number
  /** The base of links and the default issuer, unchanged. */
  readonly externalUrl: string
  readonly handlerTimeoutMs: number
  readonly shutdownDelayMs: number
  /** `undefined` if no setting names the proxies. No proxy is then trusted. */
  readonly trustedProxies: TrustedProxies | undefined
  /** The headers with the client's address, in lower case. The first present header takes precedence. */
  readonly addressHeaders: readonly string[]
  readonly requestIdHeader: string | undefined
  readonly corsAllowedHeaders: readonly string[]
  readonly logFile: string | undefined
  readonly serviceName: string
}

export function toServerConfig(
  values: ServerValues,
  { trustedPeer }: Pick<CompatibilityOptions, 'trustedPeer'>,
): ServerConfig {
  return {
    host: values.API_HOST,
    port: values.API_PORT,
    externalUrl: values.API_EXTERNAL_URL,
    handlerTimeoutMs: values.API_MAX_REQUEST_DURATION,
    shutdownDelayMs: values.SHUTDOWN_DELAY,
    trustedProxies: values.TRUSTED_PROXIES ?? (trustedPeer === 'none' ? undefined : trustedPeer),
    addressHeaders: ADDRESS_SETTINGS.filter((name) => values[name]).map((name) => ADDRESS_HEADERS[name]),
    requestIdHeader: values.REQUEST_ID_HEADER,
    corsAllowedHeaders: values.CORS_ALLOWED_HEADERS,
    logFile: values.LOG_FILE,
    ...toTelemetryConfig(values),
    serviceName: values.OTEL_SERVICE_NAME,
  }
}

/** Warns about settings that have no effect. The service starts in any case. */
export function serverWarnings(values: SettingValues<typeof settingsWithoutEffect>): string[] {
  const names = ['MULTI_INSTANCE_MODE', 'OPERATOR_TOKEN', 'API_ENDPOINT', 'JWT_ADMIN_GROUP_NAME'] as const
  const set = names.filter((name) => values[name] !== undefined)
  return set.map((name) => `AUTH_${name} is deprecated and has no effect`)
}

export const databaseSettings = group('Database', {
  DB_DRIVER: oneOf('postgres').describe('The kind of database.'),
  DB_DATABASE_URL: databaseUrl().meta({
    aliases: ['AUTH_DATABASE_URL', 'DATABASE_URL'],
    description: 'Connection of the service.',
  }),
  ...commonSettings,
  DB_SCHEMA: matching(NAMESPACE_PATTERN, 'lower-case letters, digits and _, at most 31')
    .prefault('auth')
    .meta({ aliases: ['GOTRUE_DB_NAMESPACE'], description: 'Schema of all tables and functions.' }),
  DB_NAMESPACE: commonSettings.DB_NAMESPACE.meta({
    ...commonSettings.DB_NAMESPACE.meta(),
    aliases: ['DB_NAMESPACE'],
  }),
  DB_MAX_POOL_SIZE: integer(0, 1_000)
    .prefault('0')
    .describe('Connections for writes. 0 means 16; more than 32 are slower.'),
  DB_CLEANUP_ENABLED: flag()
    .prefault('true')
    .describe('Remove expired sessions, tokens and unfinished flows in the background.'),
  AUDIT_LOG_DISABLE_POSTGRES: flag()
    .prefault('false')
    .describe('Write audit events to the log only, not to the database.'),
  AUDIT_LOG_RETENTION: retention()
    .prefault('8760h')
    .describe('How long audit events stay in the database. off keeps them for ever.'),
  ANONYMOUS_USER_RETENTION: retention()
    .prefault('720h')
    .describe(
      'How long anonymous users stay after their creation. off keeps them for ever, as the profile supabase does by default. Anonymous users that an adoption or an import has carried over, or an admin has changed, always stay.',
    ),
  UNCONFIRMED_USER_RETENTION: retention()
    .prefault('720h')
    .describe(
      'How long users who have signed up have to confirm, after the last message, before they are removed. off keeps them. A user whom an admin or an import has made, invited, changed or banned, or who has signed in, is never removed.',
    ),
})

type DatabaseValues = SettingValues<typeof databaseSettings>

/** The settings of the database and its rows. Auth has no lists that a standby could serve. */
export interface AuthDatabaseSettings extends Omit<DatabaseSettings, 'standby'> {
  readonly schema: string
  readonly cleanupEnabled: boolean
  readonly auditInPostgres: boolean
  readonly auditRetentionMs: number | 'off'
  readonly anonymousRetentionMs: number | 'off'
  readonly unconfirmedRetentionMs: number | 'off'
}

/** Returns the settings. The service chooses the size for a pool of 0. A retention of `off` keeps rows for ever. */
export function toDatabaseConfig(values: DatabaseValues): AuthDatabaseSettings {
  return {
    url: values.DB_DATABASE_URL,
    migrationUrl: values.MIGRATION_DATABASE_URL ?? values.DB_DATABASE_URL,
    isProduction: values.NODE_ENV === 'production',
    poolSize: toPoolSize(values.DB_MAX_POOL_SIZE),
    prepared: values.DB_PREPARED,
    connectTimeoutMs: toConnectTimeoutMs(values.PGCONNECT_TIMEOUT),
    role: values.DB_ROLE,
    schema: values.DB_SCHEMA,
    namespace: values.DB_NAMESPACE,
    cleanupEnabled: values.DB_CLEANUP_ENABLED,
    auditInPostgres: !values.AUDIT_LOG_DISABLE_POSTGRES,
    auditRetentionMs: values.AUDIT_LOG_RETENTION,
    anonymousRetentionMs: values.ANONYMOUS_USER_RETENTION,
    unconfirmedRetentionMs: values.UNCONFIRMED_USER_RETENTION,
  }
}
