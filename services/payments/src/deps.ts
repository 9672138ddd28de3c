import { createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Meter } from '@opentelemetry/api'
import type { Readiness } from '@trestle/common/lifecycle/readiness.ts'
import { createOutbound, hostOf } from '@trestle/common/outbound/outbound.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Telemetry, Tracing } from '@trestle/common/telemetry/open-telemetry.ts'
import type { Pools } from '@trestle/database/pools.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { createOutbox, type Outbox } from '@trestle/jobs/outbox.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import type { OperatorAccess } from '@trestle/operators/operator.ts'
import { openOperatorAccess } from '@trestle/operators/operator-settings.ts'
import { openLimiterStore } from '@trestle/rate-limits/limiter-store.ts'
import { type Acquirers, createAcquirers } from './acquirers/acquirers.ts'
import { createHttpAcquirer } from './acquirers/http-acquirer.ts'
import { createSimulator } from './acquirers/simulator.ts'
import type { UsedKeys } from './apps/app-key-repository.ts'
import type { PaymentsConfig } from './config.ts'
import type { Db } from './database.ts'
import { createMailer, type Mailer } from './mail/mailer.ts'
import type { UserTokens } from './members/user-token.ts'
import { tasks } from './migrations.ts'
import type { Money } from './money/minor-units.ts'
import { findExchanged } from './money/rate-repository.ts'
import { createProcessReadiness, openOperatorDatabase, openServingDatabase, openServingJobs } from './open-database.ts'
import { observeDatabase } from './open-telemetry.ts'
import { findPlacement, followPlacement, type Placement } from './placement/placement.ts'
import { createRefusalLimit, type LimitRefusals } from './rate-limits/card-testing.ts'
import { createRateLimits, type RateLimits } from './rate-limits/rate-limits.ts'
import { createOperationGroup, type OperationGroup } from './transactions/operation-group.ts'
import { type CheckoutCiphers, createCheckoutCiphers } from './vault/encryption.ts'
import { createPanVault, type PanVault } from './vault/pan-vault.ts'
import { openWebhooks, type WebhookDeps } from './webhooks/delivery.ts'
import { takeJobs } from './webhooks/outbox.ts'
import { createWebhookSecrets, type WebhookSecrets } from './webhooks/webhook-secret.ts'

/** The settings that routes, use cases and commands read. They contain no keys and no addresses of other servers. */
interface ReadConfig
  extends Pick<
    PaymentsConfig,
    'checkout' | 'dayLimits' | 'payouts' | 'pricing' | 'refundLimits' | 'registration' | 'seedAllowed' | 'unusedAppDays'
  > {
  readonly server: Pick<PaymentsConfig['server'], 'baseUrl' | 'docsEnabled' | 'trustedProxies'>
}

/** The clock, random values and timers of a process. Tests replace them. */
interface Sources {
  readonly now: () => Date
  readonly randomBytes: (size: number) => Buffer
  readonly generateApiKey: () => string
  /** Resolves after `ms` milliseconds. Rejects if the signal aborts the wait. */
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>
}

interface Secrets {
  /** The key of the MACs of API keys. With a Buffer, computing a MAC takes five times as long. */
  readonly pepper: KeyObject
  readonly vault: PanVault
  readonly ciphers: CheckoutCiphers
}

interface AccessDeps {
  readonly rateLimits: RateLimits
  readonly limitRefusals: LimitRefusals
  readonly usedKeys: UsedKeys
  /** `undefined` if users cannot sign in. */
  readonly userTokens: UserTokens | undefined
  /** `undefined` if there is no operator API. */
  readonly operators: OperatorAccess | undefined
  /** The database in the role of operators, on the coordinator. Only changes by operators use it. */
  readonly operatorDb: Db
  /** Pools for operators' reads, on the connections of `operatorDb`, so that a slow search delays no merchant. */
  readonly operatorPools: Pools
}

interface MoneyDeps {
  readonly acquirers: Acquirers
  readonly operations: OperationGroup
}

export interface QueueDeps {
  readonly jobs: Jobs
  readonly outbox: Outbox
}

interface ReportDeps {
  readonly logger: ServiceLogger['logger']
  readonly meter: Metrics['meter']
  readonly tracing: Pick<Tracing, 'instrument'>
  readonly readiness: Readiness
}

/** The dependencies of requests. `serve` creates them once. A test creates its own and may replace members. */
export interface PaymentsDeps extends Sources, Secrets, AccessDeps, MoneyDeps, QueueDeps, ReportDeps {
  readonly config: ReadConfig
  readonly pools: Pools
  readonly names: Names
  readonly webhooks: WebhookDeps
  /** `undefined` if no mail server is set. */
  readonly mailer: Mailer | undefined
}

/** The database for background work: database transactions, prepared queries, and the placement of rows. */
export interface RowDeps {
  readonly db: Db
  readonly pools: Pools
  readonly placement: Placement
}

export interface ProcessDeps extends PaymentsDeps, RowDeps {
  readonly metrics: Metrics
  /** Closes everything. The database is closed last. */
  close(): Promise<void>
}

/** The dependencies of an operator's command: the database with the rights of the table owner, and no rate limits. */
export interface OperatorDeps
  extends Sources,
    MoneyDeps,
    Pick<Secrets, 'pepper' | 'vault'>,
    Pick<QueueDeps, 'jobs'>,
    Pick<ReportDeps, 'meter'> {
  readonly config: ReadConfig
  readonly db: Db
  readonly pools: Pools
  readonly names: Names
  readonly placement: Placement
  readonly webhookSecrets: WebhookSecrets
  close(): Promise<void>
}

/** Opens the dependencies of a serving process. The database must answer and be migrated. */
export async function createDeps(
  config: PaymentsConfig,
  { logger }: ServiceLogger,
  { metrics, tracing }: Telemetry,
): Promise<ProcessDeps> {
  const { meter } = metrics
  const found = await findPlacement(config, SOURCES.now)
  const database = await openServingDatabase(config, { findOwner: found.findOwner, logger })
  const operatorDatabase = openOperatorDatabase(config, { findOwner: found.findOwner, logger })
  const placement = followPlacement(found, { config, database, operators: operatorDatabase, logger, now: SOURCES.now })
  const { db, pools, names } = database
  observeDatabase(meter, database, tasks)
  const onAway = (error: unknown) => logger.warn({ err: error }, 'the store of the rate limits is unavailable')
  const limiters = await openLimiterStore({ store: config.rateLimitStore, redisUrl: config.redisUrl }, database, onAway)
  const rateLimits = createRateLimits(config.rateLimits, limiters.store)
  const jobs = openServingJobs(config, { meter, logger, database, now: SOURCES.now })
  const mailer = config.smtp && createMailer(config.smtp)
  const webhooks = openWebhooks(config.webhooks, createWebhookSecrets(config))
  return {
    config,
    ...SOURCES,
    ...createSecrets(config, meter),
    db,
    pools,
    names,
    placement,
    rateLimits,
    limitRefusals: createRefusalLimit(rateLimits, meter),
    acquirers: openAcquirers(config, { pools, meter, logger }),
    operations: createOperationGroup({ pools, meter, terms: config.rateTerms, scope: () => placement.batchScope }),
    usedKeys: new Map(),
    jobs,
    outbox: createOutbox({
      db,
      jobs,
      take: takeJobs(placement.takeRows(db), { times: webhooks.times, meter: mailer ? undefined : meter }),
      onError: (error) => logger.warn({ err: error }, 'the outbox could not be emptied'),
    }),
    mailer,
    webhooks,
    userTokens: config.signIn && (await openSignIn(pools, config.signIn)),
    operators: config.operators && (await openOperatorAccess(config.operators, SOURCES.now)),
    operatorDb: operatorDatabase.db,
    operatorPools: operatorDatabase.pools,
    logger,
    meter,
    metrics,
    tracing,
    readiness: createProcessReadiness(database, jobs, config.database),
    close: async () => {
      placement.stop()
      mailer?.close()
      limiters.close()
      await Promise.all([metrics.close(), tracing.close()])
      await Promise.all([database.close(), operatorDatabase.close()])
    },
  }
}

export const SOURCES: Sources = {
  now: () => new Date(),
  randomBytes,
  generateApiKey: randomUUID,
  wait: (ms, signal) => setTimeout(ms, undefined, signal && { signal }),
}

export function createSecrets(config: PaymentsConfig, meter: Meter): Secrets {
  return {
    pepper: createSecretKey(config.pepper),
    vault: createPanVault(config.vaultKeys, meter),
    ciphers: createCheckoutCiphers(config.vaultKeys),
  }
}

/** Loads the library for tokens only if users can sign in, because the service starts faster without it. */
async function openSignIn(pools: Pools, signIn: NonNullable<PaymentsConfig['signIn']>): Promise<UserTokens> {
  const { openUserTokens } = await import('./members/user-token.ts')
  return openUserTokens(pools, { ...signIn, now: SOURCES.now })
}

/** Opens the simulator and the acquirers of the settings. The acquirers may be in the operator's own network. */
export function openAcquirers(
  { acquirers }: PaymentsConfig,
  { pools, meter, logger }: Pick<PaymentsDeps, 'pools' | 'meter' | 'logger'>,
): Acquirers {
  const outbound = createOutbound(acquirers.map(({ url }) => hostOf(url)))
  const convert = (money: Money, currency: string) => findExchanged(pools, money, currency)
  return createAcquirers({
    simulator: createSimulator({ wait: SOURCES.wait, convert }),
    others: new Map(acquirers.map((address) => [address.name, createHttpAcquirer({ ...address, outbound })])),
    meter,
    logger,
    wait: SOURCES.wait,
  })
}
