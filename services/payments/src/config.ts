import { randomBytes } from 'node:crypto'
import { adviceForMissing } from '@trestle/common/config/advice-for-missing.ts'
import { ConfigError, type EnvFile, type EnvironmentOptions } from '@trestle/common/config/environment.ts'
import { loadConfig, type Rule, type SettingValues } from '@trestle/common/config/load-config.ts'
import {
  removedTelemetrySettings,
  type TelemetryConfig,
  toTelemetryConfig,
} from '@trestle/common/config/process-settings.ts'
import { findUnknownSettings } from '@trestle/common/config/unknown-settings.ts'
import { plainHttpWarnings } from '@trestle/common/outbound/outbound.ts'
import type { TrustedProxies } from '@trestle/common/server/trusted-proxies.ts'
import { urlsOfHosts } from '@trestle/database/driver/hosts.ts'
import { operatorRule } from '@trestle/operators/operator-settings.ts'
import { limitStoreRule } from '@trestle/rate-limits/limit-settings.ts'
import {
  type DatabaseSettings,
  largePoolWarnings,
  removedDatabaseSettings,
  toDatabaseConfig,
} from '@trestle/service/database-settings.ts'
import {
  type OperatorsConfig,
  type RegistrationConfig,
  type SignInConfig,
  signInRules,
  toOperatorsConfig,
  toRegistrationConfig,
  toSignInConfig,
} from './config/access.ts'
import { type AcquiringConfig, type PostingConfig, toAcquiringConfig, toPostingConfig } from './config/acquiring.ts'
import { type CheckoutConfig, toCheckoutConfig } from './config/checkout.ts'
import { type MessageConfig, messageRules, toMessageConfig } from './config/messages.ts'
import { type PricingConfig, toPricingConfig } from './config/pricing.ts'
import { type LimiterConfig, toLimiterConfig } from './config/rate-limits.ts'
import { KEY_BYTES, settings } from './config/settings.ts'

const PREFIX = 'PAYMENTS_'

export interface PaymentsConfig
  extends PricingConfig,
    MessageConfig,
    AcquiringConfig,
    CheckoutConfig,
    RegistrationConfig,
    PostingConfig,
    OperatorsConfig,
    LimiterConfig {
  readonly server: ServerConfig
  readonly database: DatabaseSettings & {
    /** `undefined` if `url` leads to the coordinator or there is no cluster. */
    readonly coordinatorUrl: string | undefined
    /** The password with which the servers of a cluster log in to each other in the role of the service. */
    readonly nodePassword: string | undefined
    /** The URL of the connection for changes by operators. `undefined` if they use `migrationUrl`. */
    readonly operatorUrl: string | undefined
    /** The role that changes by operators use. `undefined` if they use the role of the connection. */
    readonly operatorRole: string | undefined
  }
  readonly pepper: Buffer
  readonly vaultKeys: PaymentsValues['VAULT_KEYS']
  /** The settings whose keys were generated for this process only. */
  readonly throwAwayKeys: readonly string[]
  readonly warnings: readonly string[]
  /** `undefined` if users cannot call the API. */
  readonly signIn: SignInConfig | undefined
  readonly dayLimits: {
    readonly authorizationExpiryDays: number
    readonly confirmationDays: number
    readonly rateAgeDaysMax: number
  }
}

/**
 * Returns the settings of payments, from the environment and an env file. With PAYMENTS_DEV, missing keys are generated for this
 * process only. `throwAwayKeys` names these settings, so that the service can warn.
 * @param file an env file with more variables. By default no file is read
 * @throws ConfigError that lists all problems
 */
export function loadPaymentsConfig(env: NodeJS.ProcessEnv, file?: EnvFile): PaymentsConfig {
  const source = { prefix: PREFIX, env, file }
  const pepper = randomBytes(KEY_BYTES)
  const vaultKey = { id: 0, key: randomBytes(KEY_BYTES) } as const
  const values = loadConfig(isDevelopment(source) ? withThrowAwayKeys(pepper, vaultKey) : settings, {
    ...source,
    rules,
    removed: { ...removedTelemetrySettings, ...removedDatabaseSettings },
    adviceForMissing: adviceForMissing('payments'),
  })
  return {
    server: toServerConfig(values),
    database: {
      ...toDatabaseConfig(values),
      migrationUrl: values.MIGRATION_DATABASE_URL ?? values.COORDINATOR_URL ?? values.DATABASE_URL,
      coordinatorUrl: values.COORDINATOR_URL,
      nodePassword: values.NODE_PASSWORD,
      operatorUrl: values.OPERATOR_DATABASE_URL,
      operatorRole: values.OPERATOR_DB_ROLE,
    },
    pepper: values.PEPPER,
    vaultKeys: values.VAULT_KEYS,
    throwAwayKeys: [
      ...(values.PEPPER === pepper ? [`${PREFIX}PEPPER`] : []),
      ...(values.VAULT_KEYS[0] === vaultKey ? [`${PREFIX}VAULT_KEYS`] : []),
    ],
    warnings: [
      ...findUnknownSettings(settings, source),
      ...largePoolWarnings(`${PREFIX}DB_POOL_SIZE`, values.DB_POOL_SIZE),
      ...plainHttpWarnings(`${PREFIX}USER_JWKS_URL`, values.USER_JWKS_URL),
      ...plainHttpWarnings(`${PREFIX}OPERATOR_JWKS_URL`, values.OPERATOR_JWKS_URL),
    ],
    ...toPricingConfig(values),
    ...toMessageConfig(values),
    signIn: toSignInConfig(values),
    ...toOperatorsConfig(values),
    ...toAcquiringConfig(values),
    ...toCheckoutConfig(values),
    ...toRegistrationConfig(values),
    ...toPostingConfig(values),
    dayLimits: {
      authorizationExpiryDays: values.AUTH_EXPIRY_DAYS,
      confirmationDays: values.CONFIRMATION_DAYS,
      rateAgeDaysMax: values.FX_MAX_AGE_DAYS,
    },
    ...toLimiterConfig(values),
  }
}

type PaymentsValues = SettingValues<typeof settings>

interface ServerConfig extends TelemetryConfig {
  readonly port: number
  readonly host: string
  readonly baseUrl: string
  readonly shutdownDelayMs: number
  readonly logFile: string | undefined
  readonly trustedProxies: TrustedProxies
}

function toServerConfig(values: PaymentsValues): ServerConfig {
  return {
    port: values.PORT,
    host: values.HOST,
    baseUrl: values.BASE_URL,
    shutdownDelayMs: values.SHUTDOWN_DELAY,
    logFile: values.LOG_FILE,
    ...toTelemetryConfig(values),
    trustedProxies: values.TRUSTED_PROXIES,
  }
}

type JudgedValues = Pick<
  PaymentsValues,
  | ('RATE_LIMIT_STORE' | 'REDIS_URL' | 'SMTP_URL' | 'MAIL_FROM' | 'USER_JWKS_URL' | 'USER_ISSUER' | 'USER_AUDIENCE')
  | ('REQUIRE_TLS' | 'TRUSTED_PROXIES' | 'DATABASE_URL' | 'COORDINATOR_URL')
  | ('OPERATOR_KEYS' | 'OPERATOR_JWKS_URL' | 'OPERATOR_JWT_SECRET' | 'OPERATOR_ISSUER' | 'OPERATOR_REQUIRE_MFA')
>

const rules: readonly Rule<JudgedValues>[] = [
  limitStoreRule(PREFIX),
  ...signInRules,
  operatorRule(PREFIX),
  ({ DATABASE_URL, COORDINATOR_URL }) =>
    urlsOfHosts(DATABASE_URL).length > 1 && COORDINATOR_URL === undefined
      ? `${PREFIX}COORDINATOR_URL is required when ${PREFIX}DATABASE_URL has several hosts`
      : undefined,
  // The service itself speaks plain HTTP. Without a trusted proxy, no request would count as sent by TLS.
  ({ REQUIRE_TLS, TRUSTED_PROXIES }) =>
    REQUIRE_TLS && TRUSTED_PROXIES === 0
      ? `${PREFIX}REQUIRE_TLS needs ${PREFIX}TRUSTED_PROXIES: a proxy says by X-Forwarded-Proto what came by TLS`
      : undefined,
  ...messageRules,
]

/** Returns whether keys may be missing. This setting is read first, because it decides which other settings are required. */
function isDevelopment(source: EnvironmentOptions & { readonly prefix: string }): boolean {
  try {
    return loadConfig({ DEV: settings.DEV }, source).DEV
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
