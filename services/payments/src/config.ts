import { randomBytes } from 'node:crypto'
import { ConfigError } from '@trestle/common/config/config-error.ts'
import { loadConfig, type Rule, type SettingValues } from '@trestle/common/config/load-config.ts'
import { plainHttpWarnings } from '@trestle/common/config/plain-http.ts'
import {
  databaseUrl,
  duration,
  flag,
  integer,
  lagMax,
  oneOf,
  port,
  secretBytes,
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
import { acquiringSettings, toAcquiringConfig } from './config/acquiring.ts'
import { checkoutSettings, toCheckoutConfig } from './config/checkout.ts'
import { messageRules, messageSettings, toMessageConfig } from './config/messages.ts'
import { postingSettings, toPostingConfig } from './config/posting.ts'
import { rateLimitSettings, toRateLimitConfig } from './config/rate-limits.ts'
import { registrationSettings, toRegistrationConfig } from './config/registration.ts'
import { signInRules, signInSettings, toSignInConfig } from './config/sign-in.ts'
import type { Money } from './merchants/merchant.ts'
import { readMoney } from './money/minor-units.ts'
import { readVaultKeys } from './vault/vault-keys.ts'

const PREFIX = 'PAYMENTS_'
const POOL_SIZE = 16
const KEY_BYTES = 32
const BASIS_POINTS_MAX = 10_000

/** Every setting of the service, by its name without the prefix PAYMENTS_. */
export const settings = {
  PORT: port().default(8082),
  HOST: text().default('127.0.0.1'),
  // Paths are put behind it.
  BASE_URL: url().transform((value) => value.replace(/\/+$/, '')),
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
  DB_PREPARED: flag().default(true),
  DB_CONNECT_TIMEOUT: duration().default(30_000),
  SHUTDOWN_DELAY: duration().default(0),
  LOG_LEVEL: oneOf(...LOG_LEVELS).default('info'),
  LOG_FILE: text().optional(),
  METRICS_ENABLED: flag().default(true),
  METRICS_EXPORTER: oneOf('prometheus', 'opentelemetry').default('prometheus'),
  OTEL_EXPORTER_OTLP_PROTOCOL: oneOf(...OTLP_PROTOCOLS).default('http/protobuf'),
  OTEL_EXPORTER_PROMETHEUS_HOST: text().default('127.0.0.1'),
  OTEL_EXPORTER_PROMETHEUS_PORT: port().default(9101),
  TRACING_ENABLED: flag().default(false),
  DOCS_ENABLED: flag().default(true),
  TRUSTED_PROXIES: trustedProxies().default(0),
  PEPPER: secretBytes(KEY_BYTES),
  VAULT_KEYS: vaultKeys(),
  FEE_RATE_BPS: integer(0, BASIS_POINTS_MAX).default(135),
  FEE_FLAT: money().default({ currency: 'EUR', amount: 25 }),
  FEE_DISPUTE: money().default({ currency: 'EUR', amount: 2_500 }),
  RATE_LIMIT_STORE: oneOf('memory', 'postgres', 'redis').default('memory'),
  REDIS_URL: url('redis', 'rediss').meta({ secret: true }).optional(),
  ...rateLimitSettings,
  ...messageSettings,
  ...signInSettings,
  ...acquiringSettings,
  ...checkoutSettings,
  ...registrationSettings,
  ...postingSettings,
  DEV: flag().default(false),
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
export type PaymentsConfig = ReturnType<typeof loadPaymentsConfig>

/**
 * Reads the settings of payments from the environment and a `.env` file under it. With PAYMENTS_DEV keys that are not set are
 * thrown away at the end of the process; `throwAwayKeys` then names them, for a warning.
 * @throws ConfigError with every problem at once
 */
export function loadPaymentsConfig(env: NodeJS.ProcessEnv) {
  const pepper = randomBytes(KEY_BYTES)
  const vaultKey = { id: 0, key: randomBytes(KEY_BYTES) } as const
  const values = loadConfig(isDevelopment(env) ? withThrowAwayKeys(pepper, vaultKey) : settings, {
    prefix: PREFIX,
    env,
    aliases,
    rules,
  })
  return {
    port: values.PORT,
    host: values.HOST,
    baseUrl: values.BASE_URL,
    databaseUrl: values.DATABASE_URL,
    migrationDatabaseUrl: values.MIGRATION_DATABASE_URL ?? values.DATABASE_URL,
    isProduction: values.NODE_ENV === 'production',
    standby: { url: values.DB_READ_URL, lagMaxMs: values.DB_READ_LAG_MAX },
    databaseRole: values.DB_ROLE,
    databaseNamespace: values.DB_NAMESPACE,
    databasePoolSize: values.DB_POOL_SIZE === 0 ? POOL_SIZE : values.DB_POOL_SIZE,
    databasePrepared: values.DB_PREPARED,
    databaseConnectTimeoutMs: values.DB_CONNECT_TIMEOUT,
    shutdownDelayMs: values.SHUTDOWN_DELAY,
    logLevel: values.LOG_LEVEL,
    logFile: values.LOG_FILE,
    metrics: {
      enabled: values.METRICS_ENABLED,
      exporter: values.METRICS_EXPORTER,
      host: values.OTEL_EXPORTER_PROMETHEUS_HOST,
      port: values.OTEL_EXPORTER_PROMETHEUS_PORT,
    },
    otlpProtocol: values.OTEL_EXPORTER_OTLP_PROTOCOL,
    tracingEnabled: values.TRACING_ENABLED,
    docsEnabled: values.DOCS_ENABLED,
    trustedProxies: values.TRUSTED_PROXIES,
    pepper: values.PEPPER,
    vaultKeys: values.VAULT_KEYS,
    throwAwayKeys: [
      ...(values.PEPPER === pepper ? [`${PREFIX}PEPPER`] : []),
      ...(values.VAULT_KEYS[0] === vaultKey ? [`${PREFIX}VAULT_KEYS`] : []),
    ],
    /** What an operator should know about these settings. */
    warnings: [
      ...findUnknownSettings(settings, { prefix: PREFIX, env, aliases }),
      ...plainHttpWarnings(`${PREFIX}USER_JWKS_URL`, values.USER_JWKS_URL),
    ],
    pricing: { rate: values.FEE_RATE_BPS, flat: values.FEE_FLAT, dispute: values.FEE_DISPUTE },
    ...toMessageConfig(values),
    signIn: toSignInConfig(values),
    ...toAcquiringConfig(values),
    ...toCheckoutConfig(values),
    ...toRegistrationConfig(values),
    ...toPostingConfig(values),
    dayLimits: {
      authorizationExpiryDays: values.AUTH_EXPIRY_DAYS,
      confirmationDays: values.CONFIRMATION_DAYS,
      rateAgeDaysMax: values.FX_MAX_AGE_DAYS,
    },
    rateLimitStore: values.RATE_LIMIT_STORE,
    redisUrl: values.REDIS_URL,
    ...toRateLimitConfig(values),
  } as const
}

type JudgedValues = Pick<
  SettingValues<typeof settings>,
  | ('RATE_LIMIT_STORE' | 'REDIS_URL' | 'SMTP_URL' | 'MAIL_FROM' | 'USER_JWKS_URL' | 'USER_ISSUER' | 'USER_AUDIENCE')
  | ('REQUIRE_TLS' | 'TRUSTED_PROXIES')
>

const rules: readonly Rule<JudgedValues>[] = [
  ({ RATE_LIMIT_STORE, REDIS_URL }) =>
    RATE_LIMIT_STORE === 'redis' && REDIS_URL === undefined
      ? `${PREFIX}REDIS_URL is required when ${PREFIX}RATE_LIMIT_STORE is redis`
      : undefined,
  ...signInRules,
  // The service itself speaks plain HTTP: without a proxy that it believes, nothing would count as sent by TLS.
  ({ REQUIRE_TLS, TRUSTED_PROXIES }) =>
    REQUIRE_TLS && TRUSTED_PROXIES === 0
      ? `${PREFIX}REQUIRE_TLS needs ${PREFIX}TRUSTED_PROXIES: a proxy says by X-Forwarded-Proto what came by TLS`
      : undefined,
  ...messageRules,
]

/** Whether keys may be missing. Read on its own, because it decides what the other settings must be. */
function isDevelopment(env: NodeJS.ProcessEnv): boolean {
  try {
    return loadConfig({ DEV: settings.DEV }, { prefix: PREFIX, env }).DEV
  } catch (error) {
    if (error instanceof ConfigError) return false
    throw error
  }
}

function withThrowAwayKeys(pepper: Buffer, vaultKey: { readonly id: number; readonly key: Buffer }) {
  return {
    ...settings,
    PEPPER: settings.PEPPER.default(pepper),
    VAULT_KEYS: settings.VAULT_KEYS.default([vaultKey]),
  } as const
}

function vaultKeys() {
  return z
    .string()
    .meta({ secret: true })
    .transform((value, context) => {
      const keys = readVaultKeys(value)
      if (keys) return keys
      context.addIssue({ code: 'custom', message: 'must be id:base64,… with ids 0 to 255 and keys of 32 bytes' })
      return z.NEVER
    })
}

/** `EUR:25`: an amount in minor units. */
function money() {
  return z.string().transform((value, context): Money => {
    const read = readMoney(value)
    if (read) return read
    context.addIssue({ code: 'custom', message: 'must be a currency and minor units, such as EUR:25' })
    return z.NEVER
  })
}
