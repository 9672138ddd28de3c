import { loadConfig, type Rule, type SettingValues } from '@trestle/common/config/load-config.ts'
import { plainHttpWarnings } from '@trestle/common/config/plain-http.ts'
import {
  commaList,
  databaseUrl,
  duration,
  flag,
  integer,
  lagMax,
  oneOf,
  port,
  text,
  trustedProxies,
  url,
} from '@trestle/common/config/setting.ts'
import { findUnknownSettings } from '@trestle/common/config/unknown-settings.ts'
import { LOG_LEVELS } from '@trestle/common/telemetry/logger.ts'
import { OTLP_PROTOCOLS } from '@trestle/common/telemetry/otlp-exporters.ts'
import { NAMESPACE_PATTERN } from '@trestle/database/names.ts'
import { ROLE_PATTERN } from '@trestle/database/roles.ts'
import { z } from 'zod'
import { parseRoleScopes } from './access/scopes.ts'
import type { TokenRules } from './access/token-verifier.ts'

const PREFIX = 'INVENTORY_'
const POOL_SIZE = 16
/** Beyond this PostgreSQL cannot index the words of some attributes (a tsvector holds 1 MiB). */
const ATTRIBUTES_BYTES_MAX = 131_072

/** Every setting of the service, by its name without the prefix INVENTORY_. */
export const settings = {
  PORT: port().default(8080),
  HOST: text().default('127.0.0.1'),
  DATABASE_URL: databaseUrl(),
  MIGRATION_DATABASE_URL: databaseUrl().optional(),
  NODE_ENV: text().default('development'),
  DB_READ_URL: databaseUrl().optional(),
  DB_READ_LAG_MAX: lagMax().default(10_000),
  DB_ROLE: text()
    .refine((value) => ROLE_PATTERN.test(value), 'must be a role name of lower-case letters, digits and _')
    .optional(),
  DB_NAMESPACE: text()
    .refine((value) => NAMESPACE_PATTERN.test(value), 'must be lower-case letters, digits and _, at most 31')
    .default(''),
  DB_POOL_SIZE: integer(0, 1_000).default(POOL_SIZE),
  DB_STATEMENT_TIMEOUT_MS: integer(1, 3_600_000).default(5_000),
  DB_CONNECT_TIMEOUT: duration().default(30_000),
  DB_PREPARED: flag().default(true),
  MIGRATE: flag().default(true),
  SHUTDOWN_DELAY: duration().default(0),
  LOG_FILE: text().default('logs/app.log'),
  LOG_LEVEL: oneOf(...LOG_LEVELS).default('info'),
  LOG_STDOUT: flag().default(true),
  DEFAULT_LIMIT: integer(1, 10_000).default(50),
  MAX_LIMIT: integer(1, 10_000).default(500),
  MAX_BODY_BYTES: integer(1, 104_857_600).default(1_048_576),
  MAX_ATTRIBUTES_BYTES: integer(2, ATTRIBUTES_BYTES_MAX).default(65_536),
  AUTH_ENABLED: flag().default(false),
  AUTH_JWKS_URL: url().optional(),
  AUTH_ISSUER: text().optional(),
  AUTH_AUDIENCE: text().optional(),
  AUTH_ADMIN_ROLES: commaList().default([]),
  AUTH_ROLE_SCOPES: roleScopes().default(new Map()),
  IMPORT_MAX_BYTES: integer(1).default(268_435_456),
  EXPORT_SPOOL_MAX_BYTES: integer(0).default(268_435_456),
  REQUIRE_IF_MATCH: flag().default(false),
  CORS_ORIGINS: origins().default([]),
  RATE_LIMIT: integer(0, 1_000_000).default(0),
  RATE_LIMIT_STORE: oneOf('memory', 'postgres', 'redis').default('memory'),
  REDIS_URL: url('redis', 'rediss').meta({ secret: true }).optional(),
  RESERVATION_SWEEP_MS: integer(10, 3_600_000).default(5_000),
  TRUSTED_PROXIES: trustedProxies().default(0),
  METRICS_ENABLED: flag().default(true),
  METRICS_EXPORTER: oneOf('prometheus', 'opentelemetry').default('prometheus'),
  OTEL_EXPORTER_OTLP_PROTOCOL: oneOf(...OTLP_PROTOCOLS).default('http/protobuf'),
  OTEL_EXPORTER_PROMETHEUS_HOST: text().default('0.0.0.0'),
  OTEL_EXPORTER_PROMETHEUS_PORT: port().default(9102),
  TRACING_ENABLED: flag().default(false),
  DOCS_ENABLED: flag().default(true),
} as const

/** Names that are read after the prefixed one. */
export const aliases = {
  PORT: ['PORT'],
  DATABASE_URL: ['DATABASE_URL'],
  LOG_LEVEL: ['LOG_LEVEL'],
  NODE_ENV: ['NODE_ENV'],
  OTEL_EXPORTER_OTLP_PROTOCOL: ['OTEL_EXPORTER_OTLP_PROTOCOL'],
  OTEL_EXPORTER_PROMETHEUS_HOST: ['OTEL_EXPORTER_PROMETHEUS_HOST'],
  OTEL_EXPORTER_PROMETHEUS_PORT: ['OTEL_EXPORTER_PROMETHEUS_PORT'],
} as const

/** The settings, read and named for the code. */
export type InventoryConfig = ReturnType<typeof loadInventoryConfig>

/**
 * Reads the settings of the inventory from the environment and a `.env` file under it.
 * @throws ConfigError with every problem at once
 */
export function loadInventoryConfig(env: NodeJS.ProcessEnv) {
  const values = loadConfig(settings, {
    prefix: PREFIX,
    env,
    aliases,
    rules,
  })
  return {
    port: values.PORT,
    host: values.HOST,
    databaseUrl: values.DATABASE_URL,
    migrationDatabaseUrl: values.MIGRATION_DATABASE_URL ?? values.DATABASE_URL,
    isProduction: values.NODE_ENV === 'production',
    standby: { url: values.DB_READ_URL, lagMaxMs: values.DB_READ_LAG_MAX },
    databaseRole: values.DB_ROLE,
    databaseNamespace: values.DB_NAMESPACE,
    databasePoolSize: values.DB_POOL_SIZE === 0 ? POOL_SIZE : values.DB_POOL_SIZE,
    databaseStatementTimeoutMs: values.DB_STATEMENT_TIMEOUT_MS,
    databaseConnectTimeoutMs: values.DB_CONNECT_TIMEOUT,
    databasePrepared: values.DB_PREPARED,
    migrate: values.MIGRATE,
    shutdownDelayMs: values.SHUTDOWN_DELAY,
    logFile: values.LOG_FILE,
    logLevel: values.LOG_LEVEL,
    logStdout: values.LOG_STDOUT,
    defaultLimit: values.DEFAULT_LIMIT,
    maxLimit: values.MAX_LIMIT,
    maxBodyBytes: values.MAX_BODY_BYTES,
    maxAttributesBytes: values.MAX_ATTRIBUTES_BYTES,
    access: toAccess(values),
    importMaxBytes: values.IMPORT_MAX_BYTES,
    exportSpoolMaxBytes: values.EXPORT_SPOOL_MAX_BYTES,
    requireIfMatch: values.REQUIRE_IF_MATCH,
    corsOrigins: values.CORS_ORIGINS,
    rateLimit: {
      requestsPerMinute: values.RATE_LIMIT,
      store: values.RATE_LIMIT_STORE,
      redisUrl: values.REDIS_URL,
    },
    reservationSweepMs: values.RESERVATION_SWEEP_MS,
    trustedProxies: values.TRUSTED_PROXIES,
    metrics: {
      enabled: values.METRICS_ENABLED,
      exporter: values.METRICS_EXPORTER,
      host: values.OTEL_EXPORTER_PROMETHEUS_HOST,
      port: values.OTEL_EXPORTER_PROMETHEUS_PORT,
    },
    otlpProtocol: values.OTEL_EXPORTER_OTLP_PROTOCOL,
    tracingEnabled: values.TRACING_ENABLED,
    docsEnabled: values.DOCS_ENABLED,
    /** What an operator should know about these settings. */
    warnings: [
      ...findUnknownSettings(settings, { prefix: PREFIX, env, aliases }),
      ...(values.AUTH_ENABLED
        ? plainHttpWarnings(`${PREFIX}AUTH_JWKS_URL`, values.AUTH_JWKS_URL)
        : openDoorWarnings(values)),
    ],
  } as const
}

type Values = SettingValues<typeof settings>

const rules: readonly Rule<Values>[] = [
  ({ DEFAULT_LIMIT, MAX_LIMIT }) =>
    DEFAULT_LIMIT > MAX_LIMIT ? `${PREFIX}DEFAULT_LIMIT must not be above ${PREFIX}MAX_LIMIT` : undefined,
  ({ RATE_LIMIT_STORE, REDIS_URL }) =>
    RATE_LIMIT_STORE === 'redis' && REDIS_URL === undefined
      ? `${PREFIX}REDIS_URL is required when ${PREFIX}RATE_LIMIT_STORE is redis`
      : undefined,
  ...(['AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE'] as const).map(
    (name) => (values: Values) =>
      values.AUTH_ENABLED && values[name] === undefined
        ? `${PREFIX}${name} is required when ${PREFIX}AUTH_ENABLED is true`
        : undefined,
  ),
]

/** The rules of access tokens; undefined where everybody may do everything. */
function toAccess(values: Values): TokenRules | undefined {
  const { AUTH_ENABLED, AUTH_JWKS_URL: jwksUrl, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience } = values
  if (!AUTH_ENABLED || jwksUrl === undefined || issuer === undefined || audience === undefined) return undefined
  return { jwksUrl, issuer, audience, adminRoles: values.AUTH_ADMIN_ROLES, roleScopes: values.AUTH_ROLE_SCOPES }
}

/** Whoever says which tokens are good most likely wants them to be asked for. */
function openDoorWarnings(values: Values): readonly string[] {
  const isGiven = {
    AUTH_JWKS_URL: values.AUTH_JWKS_URL !== undefined,
    AUTH_ISSUER: values.AUTH_ISSUER !== undefined,
    AUTH_AUDIENCE: values.AUTH_AUDIENCE !== undefined,
    AUTH_ADMIN_ROLES: values.AUTH_ADMIN_ROLES.length > 0,
    AUTH_ROLE_SCOPES: values.AUTH_ROLE_SCOPES.size > 0,
  }
  const given = Object.entries(isGiven).flatMap(([name, is]) => (is ? [PREFIX + name] : []))
  if (given.length === 0) return []
  return [
    `${PREFIX}AUTH_ENABLED is false, so everybody may read and change everything, whatever ${given.join(', ')} say`,
  ]
}

function roleScopes() {
  return z.string().transform((value, context) => {
    const rules = parseRoleScopes(value)
    if (rules !== undefined) return rules
    const message = 'must be role=scope+scope,… with inventory:read and inventory:write, each role once'
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
}

/** `*`, or origins as browsers write them. */
function origins() {
  const isOrigin = (word: string) => word === '*' || URL.parse(word)?.origin === word
  return commaList().refine((words) => words.every(isOrigin), 'must be * or origins such as https://a.example')
}
