import { createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Meter } from '@opentelemetry/api'
import { createOutbound, hostOf, type Outbound } from '@trestle/common/outbound/outbound.ts'
import { createReadiness, type Readiness } from '@trestle/common/server/readiness.ts'
import type { TrustedProxies } from '@trestle/common/server/trusted-proxies.ts'
import { createLogger, type ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Tracing } from '@trestle/common/telemetry/tracing.ts'
import type { Database } from '@trestle/database/connect.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { loadQuerySpans } from '@trestle/database/query-spans.ts'
import { createJobs, type Jobs } from '@trestle/jobs/jobs.ts'
import { observeJobs } from '@trestle/jobs/observe-jobs.ts'
import { observeOutbox } from '@trestle/jobs/observe-outbox.ts'
import { createOutbox, type Outbox } from '@trestle/jobs/outbox.ts'
import { openLimiterStore } from '@trestle/service/limiter-store.ts'
import { observeConnections } from '@trestle/service/observe-connections.ts'
import { standbyOf } from '@trestle/service/standby.ts'
import type { FastifyBaseLogger } from 'fastify'
import { pino } from 'pino'
import { type Acquirers, createAcquirers } from './acquirers/acquirers.ts'
import { createHttpAcquirer } from './acquirers/http-acquirer.ts'
import { observeAcquiring } from './acquirers/observe-acquiring.ts'
import { createSimulator } from './acquirers/simulator.ts'
import type { UsedKeys } from './apps/app-key-repository.ts'
import type { DayLimits } from './config/acquiring.ts'
import type { PaymentsConfig } from './config.ts'
import type { PaymentsTables } from './database.ts'
import { createRepeats, type Repeats } from './idempotency/repeats.ts'
import { observeLedger } from './ledger/verification.ts'
import { createMailer, type Mailer } from './mail/mailer.ts'
import type { Persons } from './members/person-token.ts'
import type { Money, Pricing } from './merchants/merchant.ts'
import { paymentsNames } from './migrations.ts'
import { findExchanged } from './money/exchange-repository.ts'
import { observeRates } from './money/observe-rates.ts'
import { expectMigrations, openOwnersDatabase, openPaymentsDatabase } from './payments-database.ts'
import { createRefusalLimit, type LimitRefusals } from './rate-limits/card-testing.ts'
import { createRateLimits, type RateLimits } from './rate-limits/limits.ts'
import { tasks } from './tasks.ts'
import type { Telemetry } from './telemetry/open-telemetry.ts'
import { scrub } from './telemetry/scrub.ts'
import type { MoveQueue } from './transactions/move-queue.ts'
import { createMoves } from './transactions/moves.ts'
import { type CheckoutSeals, createCheckoutSeals } from './vault/checkout-seals.ts'
import { createJobKeys } from './vault/job-keys.ts'
import { createPanVault, type PanVault } from './vault/pan-vault.ts'
import { takeRows, takeRowsCountingMails } from './webhooks/outbox.ts'
import { createWebhookSecrets, type WebhookSecrets } from './webhooks/webhook-secret.ts'

/** What the routes and use cases of payments work with. */
export interface PaymentsDeps extends DayLimits {
  readonly lanes: Lanes
  readonly limits: RateLimits
  /** Requests with an Idempotency-Key that are under way. */
  readonly repeats: Repeats
  /** Secret of the digests under which API keys are kept. At least 32 bytes; as a Buffer a digest would take five times as long. */
  readonly pepper: KeyObject
  readonly acquirers: Acquirers
  readonly vault: PanVault
  /** What the checkout gives out. */
  readonly seals: CheckoutSeals
  /** Limits refused cards at live merchants, by address. */
  readonly limitRefusals: LimitRefusals
  /** Whether live card data must come by TLS. */
  readonly requireTls: boolean
  /** The host whose root is the vault; undefined: none. */
  readonly vaultHost: string | undefined
  /** The page of payment links, as customers reach it. */
  readonly posUrl: string
  /** A host whose root is that page too; undefined: none. */
  readonly posHost: string | undefined
  /** Who may make apps. */
  readonly registration: PaymentsConfig['registration']
  /** Days after which apps that nobody uses are deleted; 0: never. */
  readonly unusedAppDays: number
  /** Captures, refunds and voids on their way. */
  readonly moves: MoveQueue
  /** When and how much is paid out. */
  readonly payouts: PaymentsConfig['payouts']
  /** Resolves after so many milliseconds, or is given up. */
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Fees of new merchants. */
  readonly pricing: Pricing
  /** A new API key. */
  readonly createKey: () => string
  readonly randomBytes: (size: number) => Buffer
  /** The only clock of the process. */
  readonly now: () => Date
  /** The keys whose last use is still to be written. */
  readonly usedKeys: UsedKeys
  readonly jobs: Jobs
  readonly outbox: Outbox
  readonly webhooks: WebhookDeps
  /** Undefined unless persons may sign in. */
  readonly persons: Persons | undefined
  /** The service's own public address. */
  readonly baseUrl: string
  /** Whether GET /openapi.json and GET /docs are answered. */
  readonly docsEnabled: boolean
  /** The proxies in front, whose X-Forwarded headers count. */
  readonly trustedProxies: TrustedProxies
  readonly logger: FastifyBaseLogger
  readonly meter: Meter
  readonly tracing: Pick<Tracing, 'instrument'>
  readonly readiness: Readiness
}

/** What events are sent with. */
export interface WebhookDeps {
  readonly outbound: Outbound
  readonly secrets: WebhookSecrets
  /** Whether those of test merchants may travel in the clear. */
  readonly allowHttp: boolean
}

/** The dependencies of a serving process, and what starts and ends them. */
export interface ProcessDeps extends PaymentsDeps {
  readonly db: Database<PaymentsTables>['db']
  readonly metrics: Metrics
  /** Undefined where no mail server is set. */
  readonly mailer: Mailer | undefined
  /** Ends everything; the database last. */
  close(): Promise<void>
}

/** What an operator's command works with. */
export interface OperatorDeps
  extends Pick<
    PaymentsDeps,
    | ('pepper' | 'createKey' | 'jobs' | 'pricing' | 'vault' | 'acquirers' | 'moves' | 'payouts')
    | ('randomBytes' | 'unusedAppDays')
  > {
  readonly database: Database<PaymentsTables>
  readonly webhookSecrets: WebhookSecrets
  /** Whether objects with ids and keys of somebody's choice may be inserted. */
  readonly seedAllowed: boolean
  close(): Promise<void>
}

/** What the log redacts besides what every service does. */
const SECRET_PATHS = ['value', 'card', 'hints', 'iban', 'email', '*.value', '*.card', '*.hints', '*.iban', '*.email']
const now = () => new Date()

/** The log of a process. @throws Error naming the file when it cannot be written */
export function createPaymentsLog(config: PaymentsConfig): ServiceLogger {
  return createLogger({ level: config.logLevel, file: config.logFile, redact: SECRET_PATHS, scrub })
}

/** Opens what a serving process needs. The database is expected to answer and to be migrated. */
export async function createDeps(
  config: PaymentsConfig,
  { logger }: ServiceLogger,
  { metrics, tracing }: Telemetry,
): Promise<ProcessDeps> {
  const onError = (error: Error) => logger.warn({ err: error }, 'database connection lost')
  const database = openPaymentsDatabase(config, onError, {
    standby: standbyOf(config.standby, logger),
    spans: await loadQuerySpans(config.tracingEnabled),
  })
  observeConnections(metrics.meter, database)
  observeAcquiring(metrics.meter, { db: database.db, schema: database.names.jobSchema })
  observeJobs(metrics.meter, { db: database.db, schema: database.names.jobSchema, tasks })
  observeOutbox(metrics.meter, { db: database.db, writtenAt: 'created' })
  observeRates(metrics.meter, database.db)
  observeLedger(metrics.meter, database.db)
  const { rateLimitStore, redisUrl } = config
  const limiters = await openLimiterStore({ store: rateLimitStore, redisUrl }, database, (error) =>
    logger.warn({ err: error }, 'the store of the rate limits is away'),
  )
  const limits = createRateLimits(config.rateLimits, limiters.store)
  const jobs = connectJobs(config, metrics.meter, (error) => logger.warn({ err: error }, 'the job queue has trouble'))
  const mailer = config.smtp && createMailer(config.smtp)
  return {
    db: database.db,
    lanes: database.lanes,
    ...{ limits, limitRefusals: createRefusalLimit(limits, metrics.meter) },
    repeats: createRepeats(),
    pepper: createSecretKey(config.pepper),
    acquirers: openAcquirers(config, { lanes: database.lanes, meter: metrics.meter, logger }),
    vault: createPanVault(config.vaultKeys, metrics.meter),
    seals: createCheckoutSeals(config.vaultKeys),
    ...config.checkout,
    ...{ registration: config.registration, unusedAppDays: config.unusedAppDays },
    moves: openMoves(config, { lanes: database.lanes, meter: metrics.meter }),
    ...config.dayLimits,
    payouts: config.payouts,
    wait: waitFor,
    pricing: config.pricing,
    ...{ createKey: randomUUID, randomBytes, now },
    usedKeys: new Map(),
    ...{ jobs, mailer },
    outbox: createOutbox({
      db: database.db,
      jobs,
      take: mailer ? takeRows : takeRowsCountingMails(metrics.meter),
      onError: (error) => logger.warn({ err: error }, 'the outbox could not be emptied'),
    }),
    webhooks: {
      outbound: createOutbound(config.webhooks.allowedHosts),
      secrets: createWebhookSecrets(config),
      allowHttp: config.webhooks.allowHttp,
    },
    persons: config.signIn && (await openSignIn(database.lanes, config.signIn)),
    baseUrl: config.baseUrl,
    trustedProxies: config.trustedProxies,
    docsEnabled: config.docsEnabled,
    ...{ logger, meter: metrics.meter, metrics, tracing },
    readiness: createReadiness({
      database: () => database.ping(),
      migrations: () => expectMigrations(database),
      worker: () => jobs.check(),
    }),
    close: async () => {
      mailer?.close()
      limiters.close()
      await Promise.all([metrics.close(), tracing.close()])
      await database.close()
    },
  }
}

function connectJobs(config: PaymentsConfig, meter: Meter, onError: (error: Error) => void): Jobs {
  return createJobs({
    url: config.databaseUrl,
    schema: paymentsNames(config).jobSchema,
    role: config.databaseRole,
    prepared: config.databasePrepared,
    applicationName: 'payments-jobs',
    sealKeys: createJobKeys(config),
    meter,
    onError,
    now: Date.now,
  })
}

/** Opens what an operator's command needs. @throws Error when there is no database that it may change */
export async function openOperatorDeps(config: PaymentsConfig): Promise<OperatorDeps> {
  const database = await openOwnersDatabase(config)
  const { createNoopMeter } = await import('@opentelemetry/api')
  const meter = createNoopMeter()
  return {
    database,
    ...{
      pepper: createSecretKey(config.pepper),
      createKey: randomUUID,
      ...{ randomBytes, unusedAppDays: config.unusedAppDays },
      pricing: config.pricing,
      payouts: config.payouts,
      seedAllowed: config.seedAllowed,
    },
    vault: createPanVault(config.vaultKeys, meter),
    webhookSecrets: createWebhookSecrets(config),
    moves: openMoves(config, { lanes: database.lanes, meter }),
    acquirers: openAcquirers(config, { lanes: database.lanes, meter, logger: pino({ enabled: false }) }),
    jobs: connectJobs(config, meter, () => {}),
    close: () => database.close(),
  }
}

/** Loads the library for tokens only where users sign in: a start without them is faster. */
async function openSignIn(lanes: Lanes, signIn: NonNullable<PaymentsConfig['signIn']>): Promise<Persons> {
  const { openPersons } = await import('./members/person-token.ts')
  return openPersons(lanes, { ...signIn, now })
}

function waitFor(ms: number, signal?: AbortSignal): Promise<void> {
  return wait(ms, undefined, signal && { signal })
}

/** The simulator and the acquirers of the settings, which may stand inside the own network. */
function openAcquirers(
  { acquirers }: PaymentsConfig,
  { lanes, meter, logger }: Pick<PaymentsDeps, 'lanes' | 'meter' | 'logger'>,
): Acquirers {
  const outbound = createOutbound(acquirers.map(({ url }) => hostOf(url)))
  const convert = (money: Money, currency: string) => findExchanged(lanes, money, currency)
  return createAcquirers({
    simulator: createSimulator({ wait: waitFor, convert }),
    others: new Map(acquirers.map((address) => [address.name, createHttpAcquirer({ ...address, outbound })])),
    ...{ meter, logger, wait: waitFor },
  })
}

function openMoves({ rateTerms: terms, batchScope: scope }: PaymentsConfig, io: Pick<ProcessDeps, 'lanes' | 'meter'>) {
  return createMoves({ ...io, terms, scope })
}
