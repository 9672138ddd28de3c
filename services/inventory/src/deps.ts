import { createReadiness, type Readiness } from '@trestle/common/lifecycle/readiness.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Telemetry, Tracing } from '@trestle/common/telemetry/open-telemetry.ts'
import type { Database } from '@trestle/database/connect.ts'
import { loadQuerySpans, type Pools } from '@trestle/database/pools.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { observeJobs } from '@trestle/jobs/observe-jobs.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import type { OperatorAccess } from '@trestle/operators/operator.ts'
import { openOperatorAccess } from '@trestle/operators/operator-settings.ts'
import { standbyOf } from '@trestle/service/observe-connections.ts'
import type { TokenVerifier } from './access/token-verifier.ts'
import type { InventoryConfig } from './config.ts'
import type { Db, InventoryTables } from './database.ts'
import { openReadingAhead, type ReadingAhead } from './exports/read-ahead.ts'
import { createImportCounter } from './imports/import-report.ts'
import type { TransferDatabase } from './imports/import-repository.ts'
import { tasks } from './migrations.ts'
import { expectMigrations, openInventoryDatabase, openInventoryJobs, openTransferDatabase } from './open-database.ts'
import { observeDatabase } from './open-telemetry.ts'
import { type ConcurrencyLimits, createConcurrencyLimits } from './rate-limits/concurrency-limits.ts'
import { openRateLimits, type RateLimits } from './rate-limits/rate-limits.ts'
import { CleanUpWatch } from './reservations/clean-up-watch.ts'
import { createStockMetrics, type StockMetrics } from './reservations/stock-metrics.ts'

/** `serve` creates them once. Tests create their own and may replace members. */
export interface InventoryDeps extends ConcurrencyLimits {
  readonly config: InventoryConfig
  /** For queries that are built for one request. */
  readonly db: Db
  readonly pools: Pools
  /** For reads that may lag behind. */
  readonly readLagging: Database<InventoryTables>['readLagging']
  /** For long reads that must not lag behind. */
  readonly readLong: Database<InventoryTables>['readLong']
  readonly names: Names
  readonly logger: ServiceLogger['logger']
  readonly meter: Metrics['meter']
  readonly stockMetrics: StockMetrics
  readonly tracing: Pick<Tracing, 'instrument'>
  readonly readiness: Readiness
  /** Has separate connections, because clients of imports and exports may be slow and their statements may take any time. */
  readonly transferDatabase: TransferDatabase
  /** The exports that read the database, and the space for data that their clients have not taken yet. */
  readonly exportReading: ReadingAhead
  /** Counts the records of an import by outcome. */
  readonly countImport: (counts: Readonly<Record<string, number>>) => void
  /** `undefined` if authentication is off. */
  readonly tokenVerifier: TokenVerifier | undefined
  /** `undefined` if there is no operator API. */
  readonly operators: OperatorAccess | undefined
  /** The queue for imports of operators. It is opened only if there are operators. */
  readonly jobs: Jobs
  /** `undefined` if requests are not limited. */
  readonly rateLimits: RateLimits | undefined
  /** The only clock of the service. */
  readonly now: () => Date
  readonly timeouts: RequestTimeouts
}

/** The time limits of a request (reference: Request limits). */
interface RequestTimeouts {
  /** For the body and the answer of a request, except imports, exports and long pages. */
  readonly handlerTimeoutMs: number
  /** For the next bytes of an import. */
  readonly silenceMs: number
}

const TIMEOUTS: RequestTimeouts = { handlerTimeoutMs: 15_000, silenceMs: 30_000 }

/** The dependencies of a serving process, and how to close them. */
export interface ProcessDeps extends InventoryDeps {
  readonly cleanUpWatch: CleanUpWatch
  readonly metrics: Metrics
  /** Closes metrics, traces and the database. The log stays open. */
  close(): Promise<void>
}

/** A database call counts as stuck if it exceeds the statement timeout by this time. */
const STUCK_MS = 60_000

/** Creates the dependencies. The database must answer and be migrated. */
export async function createDeps(
  config: InventoryConfig,
  { logger }: ServiceLogger,
  { metrics, tracing }: Telemetry,
): Promise<ProcessDeps> {
  const { meter } = metrics
  const now = () => new Date()
  const onError = (error: Error) => logger.warn({ err: error }, 'database connection lost')
  const spans = await loadQuerySpans(config.server)
  const standby = standbyOf(config.database.standby, logger)
  const database = openInventoryDatabase(config, onError, { standby, spans })
  const transferDatabase = openTransferDatabase(config, onError, { spans })
  const { db, names, pools, readLagging, readLong } = database
  observeDatabase(meter, database, transferDatabase)
  const jobs = openImportJobs(config, { meter, logger, now, db, names })
  const { batches, wholeImports, ...limits } = createConcurrencyLimits(config)
  const stockMetrics = createStockMetrics(meter)
  const rateLimits = await openRateLimits(config.rateLimits, database, (error) =>
    logger.warn({ err: error }, 'the store of the rate limits is unavailable'),
  )
  const cleanUpWatch = new CleanUpWatch(config.cleanUpEveryMs + STUCK_MS + config.database.statementTimeoutMs)
  const readiness = createReadiness({
    database: () => database.ping(),
    migrations: () => expectMigrations(database),
    upkeep: async () => cleanUpWatch.check(),
    ...(config.operators && { worker: () => jobs.check() }),
  })
  return {
    ...limits,
    config,
    db,
    pools,
    readLagging,
    readLong,
    names,
    logger,
    meter,
    metrics,
    stockMetrics,
    tracing,
    readiness,
    cleanUpWatch,
    transferDatabase: { ...transferDatabase, batches, wholeImports },
    exportReading: openReadingAhead(config.exportSpoolBytesMax),
    countImport: createImportCounter(meter),
    tokenVerifier: await openTokenVerifier(config, { logger, now }),
    jobs,
    operators: config.operators && (await openOperatorAccess(config.operators, now)),
    rateLimits,
    now,
    timeouts: TIMEOUTS,
    close: async () => {
      rateLimits?.close()
      await Promise.all([metrics.close(), tracing.close()])
      await Promise.all([database.close(), transferDatabase.close()])
    },
  }
}

/** Creates the queue for imports of operators. If there are operators, reports its metrics. */
function openImportJobs(
  config: InventoryConfig,
  { meter, logger, now, db, names }: Pick<InventoryDeps, 'meter' | 'logger' | 'now' | 'db' | 'names'>,
): Jobs {
  if (config.operators) observeJobs(meter, { db, schema: names.jobSchema, tasks })
  const onError = (error: Error) => logger.warn({ err: error }, 'the job queue has trouble')
  return openInventoryJobs(config, { meter, onError, now })
}

/**
 * Opens the verifier of access tokens. Warns immediately if every token would be refused. If the keys are unavailable now, the
 * first token loads them.
 */
async function openTokenVerifier(
  { access }: InventoryConfig,
  { logger, now }: Pick<InventoryDeps, 'logger' | 'now'>,
): Promise<TokenVerifier | undefined> {
  if (access === undefined) return undefined
  const { createTokenVerifier } = await import('./access/token-verifier.ts')
  const verifier = createTokenVerifier(access, {
    now,
    onReadFailure: (error, until) =>
      logger.warn({ err: error, until }, 'the keys of the authentication service cannot be read again'),
  })
  verifier.countKeys().then(
    (count) => {
      if (count === 0) logger.warn('the authentication service publishes no key: every token is refused')
    },
    (error: unknown) => logger.warn({ err: error }, 'the keys of the authentication service cannot be fetched yet'),
  )
  return verifier
}
