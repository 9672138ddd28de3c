import { parseDuration } from '@trestle/common/config/duration.ts'
import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { duration, flag, matching, oneOf, parsed, port, type Setting, text } from '@trestle/common/config/setting.ts'
import { LOG_LEVELS, type LogLevel } from '@trestle/common/telemetry/logger.ts'
import { OTLP_PROTOCOLS, type OtlpProtocol } from '@trestle/common/telemetry/otlp-exporters.ts'
import { NAMESPACE_PATTERN } from '@trestle/database/names.ts'
import { ROLE_PATTERN } from '@trestle/database/rights/roles.ts'
import type { z } from 'zod'
import { toPoolSize } from './pool-size.ts'

/** A PostgreSQL connection string. Never shown: it carries a password. */
export function databaseUrl(): Setting<string> {
  const problem = 'must be a postgres:// connection string'
  return parsed({ form: 'postgres:// URL', secret: true, problem }, (value) =>
    /^postgres(ql)?:\/\//.test(value) && URL.canParse(value) ? value : undefined,
  )
}

const LAG_MS_MIN = 2_000

/** How far a standby may be behind and still serve reads: a duration of at least 2 s, since it is checked once a second. */
function lagMax(): Setting<number> {
  return parsed({ form: 'duration', allowed: 'at least 2s', problem: 'must be a duration of at least 2s' }, (value) => {
    const ms = parseDuration(value)
    return ms !== undefined && ms >= LAG_MS_MIN ? ms : undefined
  })
}

/** Settings of the connection to PostgreSQL. */
export const databaseSettings = {
  MIGRATION_DATABASE_URL: databaseUrl()
    .optional()
    .describe(
      'Connection that may change the schema. `migrate` and the start of the service use it. Default: the connection of the service.',
    ),
  DB_ROLE: matching(ROLE_PATTERN, 'a role name of lower-case letters, digits and _')
    .optional()
    .describe('Role that the service works as. It has no right to change the schema.'),
  DB_NAMESPACE: matching(NAMESPACE_PATTERN, 'lower-case letters, digits and _, at most 31')
    .default('')
    .describe('Prefix of the names of all tables, indexes and functions, and of the schema of jobs.'),
  DB_PREPARED: flag()
    .prefault('true')
    .describe(
      'Use named prepared statements. Behind a pooler in transaction mode set this to false; role and limits are then sent with each transaction.',
    ),
  NODE_ENV: text()
    .prefault('development')
    .meta({
      aliases: ['NODE_ENV'],
      description:
        'In `production`, a start replaces the SQL functions of earlier releases only, not those of another build of its own release. Images set it.',
    }),
  DB_CONNECT_TIMEOUT: duration().prefault('30s').describe('How long a start waits for the database.'),
} as const

/** Settings of a second database that serves lists. */
export const standbySettings = {
  DB_READ_URL: databaseUrl()
    .optional()
    .describe(
      'A standby, which serves lists as long as it keeps up. Permissions and single objects are always read from the primary.',
    ),
  DB_READ_LAG_MAX: lagMax()
    .prefault('10s')
    .describe('How far the standby may be behind. Beyond that, lists are read from the primary.'),
} as const

type DatabaseValues = SettingValues<typeof databaseSettings & typeof standbySettings> & {
  readonly DATABASE_URL: string
  readonly DB_POOL_SIZE: number
}

/** The database of a service and its standby, as the settings say. */
export interface DatabaseSettings {
  readonly url: string
  readonly migrationUrl: string
  readonly isProduction: boolean
  readonly standby: {
    readonly url: string | undefined
    readonly lagMsMax: number
  }
  readonly role: string | undefined
  readonly namespace: string
  readonly poolSize: number
  readonly prepared: boolean
  readonly connectTimeoutMs: number
}

/** Returns what the settings say of the database and its standby. */
export function toDatabaseConfig(values: DatabaseValues): DatabaseSettings {
  return {
    url: values.DATABASE_URL,
    migrationUrl: values.MIGRATION_DATABASE_URL ?? values.DATABASE_URL,
    isProduction: values.NODE_ENV === 'production',
    standby: { url: values.DB_READ_URL, lagMsMax: values.DB_READ_LAG_MAX },
    role: values.DB_ROLE,
    namespace: values.DB_NAMESPACE,
    poolSize: toPoolSize(values.DB_POOL_SIZE),
    prepared: values.DB_PREPARED,
    connectTimeoutMs: values.DB_CONNECT_TIMEOUT,
  }
}

/** Settings of the end of a process. */
export const shutdownSettings = {
  SHUTDOWN_DELAY: duration()
    .prefault('0s')
    .describe(
      'How long requests are still taken after SIGTERM, while `/ready` answers 503, so that a load balancer notices. Up to 10 s longer while requests still come.',
    ),
} as const

/** Words of other loggers for a level, which configurations of supabase/auth may have. */
const OTHER_LEVELS: ReadonlyMap<string, LogLevel> = new Map([
  ['warning', 'warn'],
  ['trace', 'debug'],
])

function logLevel(): z.ZodType<LogLevel, string> {
  const allowed = LOG_LEVELS.join(', ')
  return parsed({ form: 'one of', allowed, problem: `must be one of ${allowed}` }, (value) => {
    const word = value.toLowerCase()
    return LOG_LEVELS.find((level) => level === word) ?? OTHER_LEVELS.get(word)
  })
}

/** Not an interface: only a type alias is a record of settings. */
type TelemetrySettings = {
  readonly LOG_LEVEL: Defaulted<LogLevel>
  readonly TRACING_ENABLED: Defaulted<boolean>
  readonly METRICS_ENABLED: Defaulted<boolean>
  readonly METRICS_EXPORTER: Defaulted<MetricsExporter>
  readonly OTEL_EXPORTER_OTLP_PROTOCOL: Defaulted<OtlpProtocol>
  readonly OTEL_EXPORTER_PROMETHEUS_HOST: Defaulted<string>
  readonly OTEL_EXPORTER_PROMETHEUS_PORT: Defaulted<number>
  readonly DOCS_ENABLED: Defaulted<boolean>
}

type Defaulted<Value> = z.ZodPrefault<z.ZodType<Value, string>>
type MetricsExporter = 'prometheus' | 'opentelemetry'

/** Returns the settings of logs, metrics and traces, except the log file. */
export function telemetrySettings(defaults: {
  readonly metrics: 'true' | 'false'
  readonly exporter: MetricsExporter
  readonly host: string
  readonly port: string
}): TelemetrySettings {
  return {
    LOG_LEVEL: logLevel()
      .prefault('info')
      .meta({ aliases: ['LOG_LEVEL'], description: 'The least severe messages that are logged.' }),
    TRACING_ENABLED: flag()
      .prefault('false')
      .describe('Send a span for each request and query to `OTEL_EXPORTER_OTLP_ENDPOINT`.'),
    METRICS_ENABLED: flag().prefault(defaults.metrics).describe('Count and time requests, queries and jobs.'),
    METRICS_EXPORTER: oneOf('prometheus', 'opentelemetry')
      .prefault(defaults.exporter)
      .describe('`prometheus` opens a listener of its own; `opentelemetry` pushes by OTLP.'),
    OTEL_EXPORTER_OTLP_PROTOCOL: oneOf(...OTLP_PROTOCOLS)
      .prefault('http/protobuf')
      .meta({
        aliases: ['OTEL_EXPORTER_OTLP_PROTOCOL'],
        description: 'Protocol by which traces and metrics are pushed.',
      }),
    OTEL_EXPORTER_PROMETHEUS_HOST: text()
      .prefault(defaults.host)
      .meta({ aliases: ['OTEL_EXPORTER_PROMETHEUS_HOST'], description: 'Address that the Prometheus listener binds.' }),
    OTEL_EXPORTER_PROMETHEUS_PORT: port()
      .prefault(defaults.port)
      .meta({
        aliases: ['OTEL_EXPORTER_PROMETHEUS_PORT'],
        description: 'Port of the Prometheus listener. Keep it inside your network.',
      }),
    DOCS_ENABLED: flag().prefault('true').describe('Serve `GET /openapi.json` and `GET /docs`.'),
  } as const
}

/** Logs, metrics, traces and the pages of documents, as the settings say. */
export interface TelemetryConfig {
  readonly logLevel: LogLevel
  readonly metrics: {
    readonly enabled: boolean
    readonly exporter: MetricsExporter
    readonly host: string
    readonly port: number
  }
  readonly otlpProtocol: OtlpProtocol
  readonly tracingEnabled: boolean
  readonly docsEnabled: boolean
}

/** Returns what the settings say of logs, metrics, traces and the pages of documents. */
export function toTelemetryConfig(values: SettingValues<TelemetrySettings>): TelemetryConfig {
  return {
    logLevel: values.LOG_LEVEL,
    metrics: {
      enabled: values.METRICS_ENABLED,
      exporter: values.METRICS_EXPORTER,
      host: values.OTEL_EXPORTER_PROMETHEUS_HOST,
      port: values.OTEL_EXPORTER_PROMETHEUS_PORT,
    },
    otlpProtocol: values.OTEL_EXPORTER_OTLP_PROTOCOL,
    tracingEnabled: values.TRACING_ENABLED,
    docsEnabled: values.DOCS_ENABLED,
  }
}
