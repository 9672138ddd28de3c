import type { SettingValues } from '@trestle/common/config/load-config.ts'
import {
  commaList,
  databaseUrl,
  duration,
  flag,
  integer,
  oneOf,
  port,
  secret,
  text,
  url,
} from '@trestle/common/config/setting.ts'
import { LOG_LEVELS } from '@trestle/common/telemetry/logger.ts'
import { OTLP_PROTOCOLS } from '@trestle/common/telemetry/otlp-exporters.ts'
import { NAMESPACE_PATTERN } from '@trestle/database/names.ts'
import { ROLE_PATTERN } from '@trestle/database/roles.ts'
import type { ProfileValues } from './profile.ts'
import { absoluteUri, globList, matching, retention } from './rules.ts'

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/

const DAY_MS = 86_400_000

/** Contract 1.2, and what design.md gives to all services. */
export const serverSettings = {
  SITE_URL: absoluteUri(),
  URI_ALLOW_LIST: globList().default([]),
  DISABLE_SIGNUP: flag().default(false),
  EXTERNAL_EMAIL_ENABLED: flag().default(true),
  EXTERNAL_PHONE_ENABLED: flag().default(false),
  EXTERNAL_ANONYMOUS_USERS_ENABLED: flag().default(false),
  API_HOST: text().default('0.0.0.0'),
  API_PORT: port().default(8081),
  // Paths of links are appended to it.
  API_EXTERNAL_URL: url().refine((value) => !/[?#]/.test(value), { error: 'must be a URL without query and fragment' }),
  API_MAX_REQUEST_DURATION: duration().default(10_000),
  SHUTDOWN_DELAY: duration().default(0),
  REQUEST_ID_HEADER: matching(HEADER_NAME, 'the name of a header').optional(),
  MAILER_EXTERNAL_HOSTS: commaList().default([]),
  CORS_ALLOWED_HEADERS: commaList().default([]),
  DB_DRIVER: oneOf('postgres'),
  DB_DATABASE_URL: databaseUrl(),
  DB_MAX_POOL_SIZE: integer(0, 1_000).default(0),
  DB_PREPARED: flag().default(true),
  DB_CONNECT_TIMEOUT: duration().default(30_000),
  MIGRATION_DATABASE_URL: databaseUrl().optional(),
  NODE_ENV: text().default('development'),
  DB_ROLE: matching(ROLE_PATTERN, 'a role name').optional(),
  DB_NAMESPACE: matching(NAMESPACE_PATTERN, 'lower-case letters, digits and _, at most 31').optional(),
  DB_CLEANUP_ENABLED: flag().default(true),
  AUDIT_LOG_DISABLE_POSTGRES: flag().default(false),
  AUDIT_LOG_RETENTION: retention().default(365 * DAY_MS),
  UNCONFIRMED_USER_RETENTION: retention().default(30 * DAY_MS),
  LOG_LEVEL: oneOf(...LOG_LEVELS).default('info'),
  LOG_FILE: text().optional(),
  TRACING_ENABLED: flag().default(false),
  TRACING_EXPORTER: oneOf('opentelemetry').default('opentelemetry'),
  METRICS_ENABLED: flag().default(false),
  METRICS_EXPORTER: oneOf('opentelemetry', 'prometheus').default('opentelemetry'),
  OTEL_SERVICE_NAME: text().default('auth'),
  OTEL_EXPORTER_OTLP_PROTOCOL: oneOf(...OTLP_PROTOCOLS).default('http/protobuf'),
  OTEL_EXPORTER_PROMETHEUS_HOST: text().default('0.0.0.0'),
  OTEL_EXPORTER_PROMETHEUS_PORT: port().default(9100),
  DOCS_ENABLED: flag().default(true),
  MULTI_INSTANCE_MODE: text().optional(),
  OPERATOR_TOKEN: secret().optional(),
  API_ENDPOINT: text().optional(),
  JWT_ADMIN_GROUP_NAME: text().optional(),
} as const

/** Names that are read after the prefixed one. */
export const serverAliases = {
  API_PORT: ['AUTH_PORT', 'PORT'],
  DB_DATABASE_URL: ['AUTH_DATABASE_URL', 'DATABASE_URL'],
  LOG_LEVEL: ['LOG_LEVEL'],
  NODE_ENV: ['NODE_ENV'],
  API_EXTERNAL_URL: ['API_EXTERNAL_URL'],
  DB_NAMESPACE: ['DB_NAMESPACE'],
  REQUEST_ID_HEADER: ['REQUEST_ID_HEADER'],
  OTEL_SERVICE_NAME: ['OTEL_SERVICE_NAME'],
  OTEL_EXPORTER_OTLP_PROTOCOL: ['OTEL_EXPORTER_OTLP_PROTOCOL'],
  OTEL_EXPORTER_PROMETHEUS_HOST: ['OTEL_EXPORTER_PROMETHEUS_HOST'],
  OTEL_EXPORTER_PROMETHEUS_PORT: ['OTEL_EXPORTER_PROMETHEUS_PORT'],
} as const

type Values = SettingValues<typeof serverSettings>

const POOL_SIZE = 16
const POOL_SIZE_WARNED = 32
const DEPRECATED = ['MULTI_INSTANCE_MODE', 'OPERATOR_TOKEN', 'API_ENDPOINT', 'JWT_ADMIN_GROUP_NAME'] as const

/** How the process listens, logs and is watched. */
export function toServerConfig(values: Values) {
  return {
    host: values.API_HOST,
    port: values.API_PORT,
    /** Base of links and default issuer, as written. */
    externalUrl: values.API_EXTERNAL_URL,
    maxRequestDurationMs: values.API_MAX_REQUEST_DURATION,
    shutdownDelayMs: values.SHUTDOWN_DELAY,
    requestIdHeader: values.REQUEST_ID_HEADER,
    corsAllowedHeaders: values.CORS_ALLOWED_HEADERS,
    logLevel: values.LOG_LEVEL,
    logFile: values.LOG_FILE,
    tracingEnabled: values.TRACING_ENABLED,
    metricsEnabled: values.METRICS_ENABLED,
    docsEnabled: values.DOCS_ENABLED,
    metricsExporter: values.METRICS_EXPORTER,
    otlpProtocol: values.OTEL_EXPORTER_OTLP_PROTOCOL,
    metricsHost: values.OTEL_EXPORTER_PROMETHEUS_HOST,
    metricsPort: values.OTEL_EXPORTER_PROMETHEUS_PORT,
    serviceName: values.OTEL_SERVICE_NAME,
  }
}

export type DatabaseSettings = ReturnType<typeof toDatabaseSettings>

export function toDatabaseSettings(values: Values) {
  return {
    url: values.DB_DATABASE_URL,
    migrationUrl: values.MIGRATION_DATABASE_URL ?? values.DB_DATABASE_URL,
    isProduction: values.NODE_ENV === 'production',
    poolSize: values.DB_MAX_POOL_SIZE === 0 ? POOL_SIZE : values.DB_MAX_POOL_SIZE,
    prepared: values.DB_PREPARED,
    connectTimeoutMs: values.DB_CONNECT_TIMEOUT,
    role: values.DB_ROLE,
    namespace: values.DB_NAMESPACE ?? '',
    cleanupEnabled: values.DB_CLEANUP_ENABLED,
    auditInPostgres: !values.AUDIT_LOG_DISABLE_POSTGRES,
    auditRetentionMs: values.AUDIT_LOG_RETENTION,
    unconfirmedRetentionMs: values.UNCONFIRMED_USER_RETENTION,
  }
}

/** Who may sign up, by what, and where they may be sent. */
export function toSignupConfig(values: Values & ProfileValues) {
  const isStrict = values.PROFILE === 'strict'
  return {
    disabled: values.DISABLE_SIGNUP,
    emailEnabled: values.EXTERNAL_EMAIL_ENABLED,
    phoneEnabled: values.EXTERNAL_PHONE_ENABLED,
    anonymousEnabled: values.EXTERNAL_ANONYMOUS_USERS_ENABLED,
    redirects: { siteUrl: values.SITE_URL, allowsHost: !isStrict, allowList: values.URI_ALLOW_LIST },
    /** Whether a browser may come back with a session in the fragment, or only with the code of a PKCE flow. */
    pkce: isStrict ? ('required' as const) : ('optional' as const),
    /** Whether who confirms an account's first address has it alone: the password and sessions of before may be a stranger's. */
    confirmerOwnsAccount: isStrict,
    /** Whether a right password is told that the account is not confirmed: whoever has signed up learns who did before. */
    tellsUnconfirmed: !isStrict,
    /** Hosts that may stand in links in place of that of `externalUrl`, lower-case. */
    linkHosts: values.MAILER_EXTERNAL_HOSTS.map((host) => host.toLowerCase()),
  }
}

/** What the operator should know though the service starts. */
export function serverWarnings(values: Values): string[] {
  const deprecated = DEPRECATED.filter((name) => values[name] !== undefined)
  return [
    ...deprecated.map((name) => `AUTH_${name} is deprecated and has no effect`),
    ...(values.DB_MAX_POOL_SIZE > POOL_SIZE_WARNED
      ? [`AUTH_DB_MAX_POOL_SIZE above ${POOL_SIZE_WARNED} makes the database slower, not faster`]
      : []),
  ]
}
