import { adviceForMissing } from '@trestle/common/config/advice-for-missing.ts'
import type { EnvFile } from '@trestle/common/config/environment.ts'
import { loadConfig, type Rule, type SettingValues } from '@trestle/common/config/load-config.ts'
import { removedTelemetrySettings, type TelemetryConfig } from '@trestle/common/config/process-settings.ts'
import { findUnknownSettings } from '@trestle/common/config/unknown-settings.ts'
import { namesLoopback } from '@trestle/common/outbound/address-rules.ts'
import { hostOf, plainHttpWarnings } from '@trestle/common/outbound/outbound.ts'
import type { TrustedProxies } from '@trestle/common/server/trusted-proxies.ts'
import { PREFIX, type RoleKeys, settings } from './config/settings.ts'

export interface ServiceAccess {
  /** Without a slash at the end. */
  readonly url: string
  readonly keys: RoleKeys
}

/** An `undefined` service has no pages. */
export interface ServiceAccesses {
  readonly auth: ServiceAccess
  readonly payments?: ServiceAccess
  readonly inventory?: ServiceAccess
}

export interface ConsoleConfig {
  readonly port: number
  readonly host: string
  /** The origin of the console in browsers, such as `https://console.example.com`. */
  readonly origin: string
  readonly trustedProxies: TrustedProxies
  readonly shutdownDelayMs: number
  readonly services: ServiceAccesses
  /** The first secret encrypts cookies, and all decrypt them. */
  readonly secrets: readonly Buffer[]
  readonly mfaRequired: boolean
  readonly telemetry: Omit<TelemetryConfig, 'docsEnabled'>
  /** Warnings for the operator of the process. */
  readonly warnings: readonly string[]
}

/** @param file an env file with more variables. By default none is read @throws ConfigError with all problems */
export function loadConsoleConfig(env: NodeJS.ProcessEnv, file?: EnvFile): ConsoleConfig {
  const values = loadConfig(settings, {
    prefix: PREFIX,
    env,
    file,
    rules,
    removed: removedTelemetrySettings,
    hidesValues: true,
    adviceForMissing: adviceForMissing('console'),
  })
  return {
    port: values.PORT,
    host: values.HOST,
    origin: new URL(values.BASE_URL).origin,
    trustedProxies: values.TRUSTED_PROXIES,
    shutdownDelayMs: values.SHUTDOWN_DELAY,
    services: toServices(values),
    secrets: values.SECRET,
    mfaRequired: values.REQUIRE_MFA,
    telemetry: toTelemetry(values),
    warnings: [
      ...findUnknownSettings(settings, { prefix: PREFIX, env, file }),
      ...(['AUTH_URL', 'PAYMENTS_URL', 'INVENTORY_URL'] as const).flatMap((name) =>
        plainHttpWarnings(`${PREFIX}${name}`, values[name], 'read operator keys and access tokens'),
      ),
    ],
  }
}

type ConsoleValues = SettingValues<typeof settings>

function toServices(values: ConsoleValues): ServiceAccesses {
  const access = (url: string, keys: RoleKeys): ServiceAccess => ({ url: url.replace(/\/+$/, ''), keys })
  const { PAYMENTS_URL, PAYMENTS_KEYS, INVENTORY_URL, INVENTORY_KEYS } = values
  return {
    auth: access(values.AUTH_URL, values.AUTH_KEYS),
    ...(PAYMENTS_URL && PAYMENTS_KEYS ? { payments: access(PAYMENTS_URL, PAYMENTS_KEYS) } : {}),
    ...(INVENTORY_URL && INVENTORY_KEYS ? { inventory: access(INVENTORY_URL, INVENTORY_KEYS) } : {}),
  }
}

function toTelemetry(values: ConsoleValues): ConsoleConfig['telemetry'] {
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
  }
}

const rules: readonly Rule<ConsoleValues>[] = [
  ({ BASE_URL }) =>
    BASE_URL.startsWith('https:') || namesLoopback(hostOf(BASE_URL))
      ? undefined
      : `${PREFIX}BASE_URL must be https, or name this machine`,
  ({ PAYMENTS_URL, PAYMENTS_KEYS }) => keysRule('PAYMENTS', PAYMENTS_URL, PAYMENTS_KEYS),
  ({ INVENTORY_URL, INVENTORY_KEYS }) => keysRule('INVENTORY', INVENTORY_URL, INVENTORY_KEYS),
]

/** A service cannot be called without keys. */
function keysRule(service: string, url: string | undefined, keys: RoleKeys | undefined): string | undefined {
  return url !== undefined && keys === undefined
    ? `${PREFIX}${service}_KEYS is required with ${PREFIX}${service}_URL`
    : undefined
}
