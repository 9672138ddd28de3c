import type { z } from 'zod'
import { LOG_LEVELS, type LogLevel } from '../telemetry/logger.ts'
import { OTLP_PROTOCOLS, type OtlpProtocol } from '../telemetry/otlp-exporters.ts'
import type { SettingValues } from './load-config.ts'
import { duration, flag, oneOf, parsed, port, text } from './setting.ts'

/** Removed settings. Their values are now read only without the prefix. */
export const removedTelemetrySettings = {
  OTEL_EXPORTER_OTLP_PROTOCOL: 'set OTEL_EXPORTER_OTLP_PROTOCOL',
  OTEL_EXPORTER_PROMETHEUS_HOST: 'set OTEL_EXPORTER_PROMETHEUS_HOST',
} as const

export const shutdownSettings = {
  SHUTDOWN_DELAY: duration()
    .prefault('0s')
    .describe(
      'How long requests are still taken after SIGTERM, while `/ready` answers 503, so that a load balancer notices. Up to 10 s longer while requests still come.',
    ),
} as const

/** Log levels under the names of other loggers. Configurations of supabase/auth may contain them. */
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

/** This must be a type alias, because TypeScript does not accept an interface as a record of settings. */
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
        unprefixed: true,
        description: 'Protocol by which traces and metrics are pushed.',
      }),
    OTEL_EXPORTER_PROMETHEUS_HOST: text()
      .prefault(defaults.host)
      .meta({
        aliases: ['OTEL_EXPORTER_PROMETHEUS_HOST'],
        unprefixed: true,
        description: 'Address that the Prometheus listener binds.',
      }),
    OTEL_EXPORTER_PROMETHEUS_PORT: port()
      .prefault(defaults.port)
      .meta({
        aliases: ['OTEL_EXPORTER_PROMETHEUS_PORT'],
        description: 'Port of the Prometheus listener. Keep it inside your network.',
      }),
    DOCS_ENABLED: flag().prefault('true').describe('Serve `GET /openapi.json` and `GET /docs`.'),
  } as const
}

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
