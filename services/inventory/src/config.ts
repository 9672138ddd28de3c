import { adviceForMissing } from '@trestle/common/config/advice-for-missing.ts'
import type { EnvFile } from '@trestle/common/config/environment.ts'
import { loadConfig, type Rule, type SettingValues } from '@trestle/common/config/load-config.ts'
import {
  removedTelemetrySettings,
  type TelemetryConfig,
  toTelemetryConfig,
} from '@trestle/common/config/process-settings.ts'
import { findUnknownSettings } from '@trestle/common/config/unknown-settings.ts'
import { plainHttpWarnings } from '@trestle/common/outbound/outbound.ts'
import type { TrustedProxies } from '@trestle/common/server/trusted-proxies.ts'
import { type OperatorConfig, operatorRule, toOperators } from '@trestle/operators/operator-settings.ts'
import { limitStoreRule } from '@trestle/rate-limits/limit-settings.ts'
import type { LimiterStoreSettings } from '@trestle/rate-limits/limiter-store.ts'
import {
  type DatabaseSettings,
  largePoolWarnings,
  removedDatabaseSettings,
  toDatabaseConfig,
} from '@trestle/service/database-settings.ts'
import type { TokenRules } from './access/token-verifier.ts'
import { accessRules, openDoorWarnings, PREFIX, settings, toAccess } from './config/settings.ts'

const PAGE_ROWS = 50
const ATTRIBUTES_BYTES_MAX = 65_536
/** The total disk space of exports with slow readers. */
const EXPORT_SPOOL_BYTES_MAX = 268_435_456
/** The interval of clean-up, and so the maximum time for which an expired reservation stays active in the database. */
const CLEAN_UP_EVERY_MS = 5_000

const removed = {
  ...removedTelemetrySettings,
  ...removedDatabaseSettings,
  DEFAULT_LIMIT: `a page has ${PAGE_ROWS} products where the request names no limit`,
  MAX_ATTRIBUTES_BYTES: `the attributes of a product have at most ${ATTRIBUTES_BYTES_MAX} bytes`,
  RESERVATION_SWEEP_MS: `reservations that have expired are looked for every ${CLEAN_UP_EVERY_MS} ms`,
  EXPORT_SPOOL_MAX_BYTES: `exports have ${EXPORT_SPOOL_BYTES_MAX} bytes on disk`,
}

/** The settings by their names in the code. A limit ends in `Max`: `IMPORT_MAX_BYTES` is `importBytesMax`. */
export interface InventoryConfig {
  readonly server: ServerConfig
  readonly database: DatabaseSettings & { readonly statementTimeoutMs: number; readonly migrate: boolean }
  readonly defaultLimit: number
  readonly limitMax: number
  readonly bodyBytesMax: number
  readonly attributesBytesMax: number
  readonly access: TokenRules | undefined
  /** `undefined` if there is no operator API. */
  readonly operators: OperatorConfig | undefined
  readonly importBytesMax: number
  readonly exportSpoolBytesMax: number
  readonly requireIfMatch: boolean
  readonly rateLimits: LimiterStoreSettings & { readonly requestsPerMinute: number }
  readonly cleanUpEveryMs: number
  readonly warnings: readonly string[]
}

/** @param file further variables; by default none is read @throws ConfigError with all problems */
export function loadInventoryConfig(env: NodeJS.ProcessEnv, file?: EnvFile): InventoryConfig {
  const values = loadConfig(settings, {
    prefix: PREFIX,
    env,
    file,
    rules,
    removed,
    hidesValues: true,
    adviceForMissing: adviceForMissing('inventory'),
  })
  return {
    server: toServerConfig(values),
    database: {
      ...toDatabaseConfig(values),
      statementTimeoutMs: values.DB_STATEMENT_TIMEOUT_MS,
      migrate: values.MIGRATE,
    },
    defaultLimit: Math.min(PAGE_ROWS, values.MAX_LIMIT),
    limitMax: values.MAX_LIMIT,
    bodyBytesMax: values.MAX_BODY_BYTES,
    attributesBytesMax: ATTRIBUTES_BYTES_MAX,
    access: toAccess(values),
    operators: toOperators(values),
    importBytesMax: values.IMPORT_MAX_BYTES,
    exportSpoolBytesMax: EXPORT_SPOOL_BYTES_MAX,
    requireIfMatch: values.REQUIRE_IF_MATCH,
    rateLimits: {
      requestsPerMinute: values.RATE_LIMIT,
      store: values.RATE_LIMIT_STORE,
      redisUrl: values.REDIS_URL,
    },
    cleanUpEveryMs: CLEAN_UP_EVERY_MS,
    warnings: [
      ...findUnknownSettings(settings, { prefix: PREFIX, env, file }),
      ...largePoolWarnings(`${PREFIX}DB_POOL_SIZE`, values.DB_POOL_SIZE),
      ...plainHttpWarnings(`${PREFIX}OPERATOR_JWKS_URL`, values.OPERATOR_JWKS_URL),
      ...(values.AUTH_ENABLED ? plainHttpWarnings(`${PREFIX}AUTH_JWKS_URL`, values.AUTH_JWKS_URL) : []),
      ...openDoorWarnings(values),
    ],
  }
}

type InventoryValues = SettingValues<typeof settings>

interface ServerConfig extends TelemetryConfig {
  readonly port: number
  readonly host: string
  readonly shutdownDelayMs: number
  readonly logFile: string
  readonly logStdout: boolean
  readonly corsOrigins: readonly string[]
  readonly trustedProxies: TrustedProxies
}

function toServerConfig(values: InventoryValues): ServerConfig {
  return {
    port: values.PORT,
    host: values.HOST,
    shutdownDelayMs: values.SHUTDOWN_DELAY,
    logFile: values.LOG_FILE,
    logStdout: values.LOG_STDOUT,
    corsOrigins: values.CORS_ORIGINS,
    trustedProxies: values.TRUSTED_PROXIES,
    ...toTelemetryConfig(values),
  }
}

const rules: readonly Rule<InventoryValues>[] = [operatorRule(PREFIX), limitStoreRule(PREFIX), ...accessRules]
