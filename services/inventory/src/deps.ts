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

/** `serve` builds them once. A test builds its own, and may replace members. */
export interface InventoryDeps extends ConcurrencyLimits {
  readonly config: InventoryConfig
  /** For queries that are put together for one request. */
  readonly db: Db
  readonly pools: Pools
  /** For reads that may lag behind. */
  readonly readLagging: Database<InventoryTables>['readLagging']
  /** For reads that may take long and may not lag behind. */
  readonly readLong: Database<InventoryTables>['readLong']
  readonly names: Names
  readonly logger: ServiceLogger['logger']
  readonly meter: Metrics['meter']
  readonly stockMetrics: StockMetrics
  readonly tracing: Pick<Tracing, 'instrument'>
  readonly readiness: Readiness
  /** Has connections of its own, because clients of imports and exports may be slow and their statements may take any time. */
  readonly transferDatabase: TransferDatabase
  /** Exports that read the database, and the space for pieces that their clients have not taken yet. */
  readonly exportReading: ReadingAhead
  /** Counts records of an import by outcome. */
  readonly countImport: (counts: Readonly<Record<string, number>>) => void
  /** Undefined when authentication is off. */
  readonly tokenVerifier: TokenVerifier | undefined
  /** Undefined: there is no operator API. */
  readonly operators: OperatorAccess | undefined
  /** The queue of the imports of operators. Opened only where there are operators. */
  readonly jobs: Jobs
  /** Undefined when requests are not limited. */
  readonly rateLimits: RateLimits | undefined
  /** The only clock. */
  readonly now: () => Date
  readonly timeouts: RequestTimeouts
}

/** The times after which a request ends (reference: Request limits). */
interface RequestTimeouts {
  /** For the body and the answer of a request, but for imports, exports and long pages. */
  readonly handlerTimeoutMs: number
  /** For the next bytes of an import. */
  readonly silenceMs: number
}

const TIMEOUTS: RequestTimeouts = { handlerTimeoutMs: 15_000, silenceMs: 30_000 }

/** The dependencies of a serving process, and their end. */
export interface ProcessDeps extends InventoryDeps {
  readonly cleanUpWatch: CleanUpWatch
  readonly metrics: Metrics
  /** Ends metrics, traces and the database. The log stays open. */
  close(): Promise<void>
}

/** A database call that takes this much longer than the limit of statements is stuck. */
const STUCK_MS = 60_000

/** Expects a database that answers and is migrated. */
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
    logger.warn({ err: error }, 'the store of the rate limits is away'),
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

/** Creates the queue of the imports of operators, and reports its metrics if there are operators. */
function openImportJobs(
  config: InventoryConfig,
  { meter, logger, now, db, names }: Pick<InventoryDeps, 'meter' | 'logger' | 'now' | 'db' | 'names'>,
): Jobs {
  if (config.operators) observeJobs(meter, { db, schema: names.jobSchema, tasks })
  const onError = (error: Error) => logger.warn({ err: error }, 'the job queue has trouble')
  return openInventoryJobs(config, { meter, onError, now })
}

/**
 * Opens the verifier of access tokens. Warns at once if every token would be refused. If the keys cannot be read now, the
 * first token reads them.
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
