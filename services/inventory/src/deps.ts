import { FairGate } from '@trestle/common/server/fair-gate.ts'
import { createReadiness, type Readiness } from '@trestle/common/server/readiness.ts'
import { createLogger, type ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { createMetrics, type Metrics } from '@trestle/common/telemetry/metrics.ts'
import { startTracing, type Tracing } from '@trestle/common/telemetry/tracing.ts'
import { type Database, openDatabase } from '@trestle/database/connect.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { isMigrated } from '@trestle/database/migrations/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { loadQuerySpans } from '@trestle/database/query-spans.ts'
import { inventoryFunctions, inventoryMigrations } from '@trestle/migrations/inventory.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { observeConnections } from '@trestle/service/observe-connections.ts'
import { observeReadiness } from '@trestle/service/observe-readiness.ts'
import { standbyOf } from '@trestle/service/standby.ts'
import type { Kysely } from 'kysely'
import type { TokenVerifier } from './access/token-verifier.ts'
import type { InventoryConfig } from './config.ts'
import type { InventoryTables } from './database.ts'
import { serverBusy, serviceUnavailable } from './errors.ts'
import { type ReadingAhead, SpoolSpace } from './exports/read-ahead.ts'
import { Slots } from './http/slots.ts'
import { importCounter } from './imports/import-metrics.ts'
import { type ClientLimit, openClientLimit } from './rate-limits/client-limit.ts'
import { observeOverdue } from './reservations/observe-overdue.ts'
import { createStockMetrics, type StockMetrics } from './stock/stock-metrics.ts'
import { createUpkeep, type Upkeep } from './stock/upkeep.ts'
import { serviceVersion } from './version.ts'

/** How long `claim_key` waits. */
const KEY_WAIT_MS = 5_000

/** The database as imports and exports use it. */
export interface TransferDatabase extends Pick<Database<InventoryTables>, 'db' | 'until'> {
  /** Turns to store a batch, to let it wait for the rest of its file, or to judge a file. */
  readonly batches: FairGate
  /** Turns to store a file as a whole. */
  readonly wholeImports: FairGate
}

/** What the routes and use cases of the inventory work with. */
export interface InventoryDeps {
  readonly config: InventoryConfig
  /** For queries that are put together for one request. */
  readonly db: Kysely<InventoryTables>
  readonly lanes: Lanes
  /** For those of them that may lag behind. */
  readonly readLagging: Database<InventoryTables>['readLagging']
  /** For those that may take long and may not lag behind. */
  readonly readLong: Database<InventoryTables>['readLong']
  readonly names: Names
  readonly log: ServiceLogger
  readonly metrics: Metrics
  readonly stockMetrics: StockMetrics
  readonly tracing: Tracing
  readonly readiness: Readiness
  /** Keeps changes of products, which may wait for an import, from taking the connections that stock needs. */
  readonly productWrites: FairGate
  /** Turns to write stock and locations, so that one client leaves connections to others. */
  readonly stockWrites: FairGate
  /** Turns to read a list: as many as there are connections for it. */
  readonly listTurns: FairGate
  /** Long pages that are open at a time: of each a piece may be in memory. */
  readonly longPages: Slots
  /** Imports that are open at a time: each may have a batch in memory. */
  readonly imports: Slots
  /** Exports that are open at a time. */
  readonly exports: Slots
  /** What they read ahead of their clients. */
  readonly exportReading: ReadingAhead
  /** A few connections for them alone: their clients may be slow, and their statements may take any time. */
  readonly transferDatabase: TransferDatabase
  /** Counts rows of an import by what became of them. */
  readonly countImport: (counts: Readonly<Record<string, number>>) => void
  /** Knows callers by their tokens; undefined where everybody may do everything. */
  readonly tokens: TokenVerifier | undefined
  /** Undefined where clients may send as many requests as they like. */
  readonly clientLimit: ClientLimit | undefined
  readonly now: () => Date
}

/** Of the connections for writes: what changes of products may take of them, and what of either kind one client may. */
const WRITE_SHARE = 0.75
/** Bounds of what waits for slow clients (reference: Turns). One client may have half of them. */
const LONG_PAGES = { all: 32, each: 16 } as const
const IMPORTS = { all: 16, each: 8 } as const
const EXPORTS = { all: 32, each: 16 } as const
/** Exports that read the database at a time, in all and of one client. */
const READERS = { places: 3, each: 1 } as const
/** Batches of imports that are stored at a time, in all and of one client. */
const BATCHES = { places: 4, each: 2 } as const
/** Beside them a file that is stored as a whole. */
const TRANSFER_CONNECTIONS = READERS.places + BATCHES.places + 1
const TURN_MS = 10_000
/** Lists that are read at a time, in all and for one client. */
const LISTS = { places: 4, each: 2 } as const
/** How long an export waits for its reader in all, once there is no room for what it reads ahead. */
const READER_MS = 60_000
/** An import waits for others of the same products; one whose client says nothing gives up sooner. */
const TRANSFER_LOCK_MS = 60_000

/** The same, opened, with the way to end it. */
export interface OpenInventoryDeps extends InventoryDeps {
  readonly upkeep: Upkeep
  /** Ends upkeep, metrics, traces and the database. The log stays open. */
  close(): Promise<void>
}

/** The identifiers of the service in its database. */
export function inventoryNames(config: Pick<InventoryConfig, 'databaseNamespace'>): Names {
  return createNames('inventory', config.databaseNamespace)
}

/** The log of a process. @throws Error naming the file when it cannot be written */
export function createInventoryLog(config: InventoryConfig): ServiceLogger {
  return createLogger({ level: config.logLevel, file: config.logFile, stdout: config.logStdout })
}

/** Opens what a serving process needs. The database is expected to answer and to be migrated. */
export async function createDeps(config: InventoryConfig, log: ServiceLogger): Promise<OpenInventoryDeps> {
  const names = inventoryNames(config)
  const resource = { 'service.name': 'inventory', 'service.version': serviceVersion }
  const [metrics, tracing] = await Promise.all([
    createMetrics({ ...config.metrics, otlpProtocol: config.otlpProtocol, resource }),
    startTracing({ enabled: config.tracingEnabled, otlpProtocol: config.otlpProtocol, resource }),
  ])
  const { database, transferDatabase } = await openDatabases(config, names, log)
  observeConnections(metrics.meter, database, {
    transfers: transferDatabase,
    lists: { connections: () => database.laggingConnections() },
  })
  const stockMetrics = createStockMetrics(metrics.meter)
  const { lanes } = database
  const { logger } = log
  const clientLimit = await openClientLimit(config.rateLimit, database, (error) =>
    logger.warn({ err: error }, 'the store of the rate limit is away'),
  )
  const upkeep = createUpkeep({
    ...{ lanes, stockMetrics, meter: metrics.meter, logger },
    everyMs: config.reservationSweepMs,
    // Longer than a call of the database takes that is given up.
    stuckMs: 60_000 + config.databaseStatementTimeoutMs,
  })
  const readiness = createReadiness({
    database: () => database.ping(),
    migrations: () => expectMigrations(database),
    upkeep: () => upkeep.check(),
  })
  observeReadiness(metrics.meter, readiness)
  observeOverdue(metrics.meter, lanes)
  return {
    ...{ config, names, log, metrics, stockMetrics, tracing, readiness, upkeep },
    ...{ db: database.db, readLagging: database.readLagging, readLong: database.readLong },
    ...openWrites(config),
    listTurns: new FairGate({ ...LISTS, patienceMs: TURN_MS, refuse: serviceUnavailable }),
    longPages: new Slots(LONG_PAGES),
    imports: new Slots(IMPORTS),
    exports: new Slots(EXPORTS),
    exportReading: {
      space: new SpoolSpace({ bytes: config.exportSpoolMaxBytes, patienceMs: READER_MS }),
      turns: new FairGate({ ...READERS, patienceMs: TURN_MS, refuse: () => serverBusy() }),
    },
    transferDatabase: {
      ...transferDatabase,
      batches: new FairGate({ ...BATCHES, patienceMs: TRANSFER_LOCK_MS, refuse: serviceUnavailable }),
      wholeImports: new FairGate({ places: 1, patienceMs: TRANSFER_LOCK_MS, refuse: serviceUnavailable }),
    },
    countImport: importCounter(metrics.meter),
    tokens: await openTokens(config, log),
    clientLimit,
    now: () => new Date(),
    lanes,
    close: async () => {
      await upkeep.stop()
      clientLimit?.close()
      await Promise.all([metrics.close(), tracing.close()])
      await Promise.all([database.close(), transferDatabase.close()])
    },
  }
}

/** The writes of one client may all wait for one product or one level: it leaves places to others. */
function openWrites({ databasePoolSize }: InventoryConfig): Pick<InventoryDeps, 'productWrites' | 'stockWrites'> {
  const open = (places: number) => {
    const each = Math.ceil(places * WRITE_SHARE)
    return new FairGate({ places, each, patienceMs: KEY_WAIT_MS, refuse: serviceUnavailable })
  }
  return { productWrites: open(Math.ceil(databasePoolSize * WRITE_SHARE)), stockWrites: open(databasePoolSize) }
}

async function openDatabases(config: InventoryConfig, names: Names, { logger }: ServiceLogger) {
  const { databaseStatementTimeoutMs: statementTimeoutMs } = config
  const shared = {
    ...{ url: config.databaseUrl, names, role: config.databaseRole, prepared: config.databasePrepared },
    spans: await loadQuerySpans(config.tracingEnabled),
    onConnectionError: (error: Error) => logger.warn({ err: error }, 'database connection lost'),
  }
  const database = openDatabase<InventoryTables>({
    ...shared,
    applicationName: 'inventory',
    poolSize: config.databasePoolSize,
    statementTimeoutMs,
    // A repeated request waits for the first one before it waits for anything else.
    writeTimeoutMs: KEY_WAIT_MS + statementTimeoutMs,
    lockTimeoutMs: Math.ceil(statementTimeoutMs / 2),
    laggingConnections: LISTS.places,
    standby: standbyOf(config.standby, logger),
  })
  const transferDatabase = openDatabase<InventoryTables>({
    ...shared,
    applicationName: 'inventory-transfers',
    ...{ poolSize: TRANSFER_CONNECTIONS, readConnections: 0 },
    ...{ statementTimeoutMs: 0, lockTimeoutMs: TRANSFER_LOCK_MS },
  })
  return { database, transferDatabase }
}

/** Says at once when every token will be refused; keys that do not come now are asked for again by the first token. */
async function openTokens({ access }: InventoryConfig, { logger }: ServiceLogger): Promise<TokenVerifier | undefined> {
  if (access === undefined) return undefined
  const { createTokenVerifier } = await import('./access/token-verifier.ts')
  const tokens = createTokenVerifier(access, {
    now: () => new Date(),
    onKept: (error, until) =>
      logger.warn({ err: error, until }, 'the keys of the authentication service cannot be read again'),
  })
  tokens.countKeys().then(
    (count) => {
      if (count === 0) logger.warn('the authentication service publishes no key: every token is refused')
    },
    (error: unknown) => logger.warn({ err: error }, 'the keys of the authentication service cannot be had yet'),
  )
  return tokens
}

async function expectMigrations({ checks, names }: Database<InventoryTables>): Promise<void> {
  const migrated = await isMigrated(checks, { names, sources: inventoryMigrations, files: inventoryFunctions })
  if (!migrated) throw new Error('migrations are pending')
}
