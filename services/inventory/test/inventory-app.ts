import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Server } from '@trestle/common/server/create-server.ts'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createTemporaryDatabase, prepared } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { buildApp } from '../src/app.ts'
import { loadInventoryConfig } from '../src/config.ts'
import { createDeps, type InventoryDeps } from '../src/deps.ts'
import { migrateOptions } from '../src/migrations.ts'
import { createInventoryLog, openInventoryTelemetry } from '../src/open-telemetry.ts'
import { createConcurrencyLimits } from '../src/rate-limits/concurrency-limits.ts'
import { startCleanUp } from '../src/use-cases/clean-up.ts'
import { startImports } from '../src/use-cases/run-import.ts'

/** A replica of the service inside the process of the test. */
export interface TestReplica {
  readonly app: Server
  readonly db: InventoryDeps['db']
  /** The lines of the log file so far. */
  readonly logLines: () => Promise<Record<string, unknown>[]>
  readonly close: () => Promise<void>
}

/** Starts the whole service with a new database, as the restricted role that production uses. */
export interface TestInventory extends TestReplica {
  /** Reads rows with all rights. */
  readonly query: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
  readonly databaseUrl: string
}

const ROLE = 'inventory_service'
// A busy machine takes several times as long as an idle one.
const PATIENCE = { writeMs: 60_000, readMs: 60_000 }
const PATIENT = { handlerTimeoutMs: 100_000, silenceMs: 100_000 }

/** Dependencies in place of those that the settings make, and the pause between clean-ups. */
interface Instead extends Partial<InventoryDeps> {
  readonly cleanUpEveryMs?: number
}

/** Starts the service with the settings of the test, by their full names. */
export async function startInventory(env: NodeJS.ProcessEnv = {}, instead: Instead = {}): Promise<TestInventory> {
  const temporary = await createTemporaryDatabase({
    template: 'inventory',
    migrate: (url) => migrateUp(migrateOptions({ database: { migrationUrl: url, namespace: '', role: ROLE } })),
  })
  const replica = await startReplica(temporary.url, env, instead)
  const pool = new pg.Pool({ connectionString: temporary.url, max: 1 })
  // pool.end() resolves before its connections are closed: the drop of the database may still cut one.
  pool.on('error', () => {})
  return {
    ...replica,
    query: async (text, values) => (await pool.query(text, values)).rows,
    databaseUrl: temporary.url,
    close: async () => {
      await replica.close()
      await pool.end()
      await temporary.drop()
    },
  }
}

/** Starts another replica with an existing database. `instead` replaces dependencies. */
export async function startReplica(
  databaseUrl: string,
  env: NodeJS.ProcessEnv = {},
  instead: Instead = {},
): Promise<TestReplica> {
  const folder = mkdtempSync(join(tmpdir(), 'inventory-'))
  const { cleanUpEveryMs, ...replaced } = instead
  const loaded = loadInventoryConfig({
    INVENTORY_DATABASE_URL: databaseUrl,
    INVENTORY_DB_PREPARED: String(prepared),
    INVENTORY_DB_ROLE: ROLE,
    INVENTORY_LOG_FILE: join(folder, 'logs', 'app.log'),
    INVENTORY_LOG_STDOUT: 'false',
    INVENTORY_METRICS_ENABLED: 'false',
    INVENTORY_DB_STATEMENT_TIMEOUT_MS: '60000',
    ...env,
  })
  const config = { ...loaded, cleanUpEveryMs: cleanUpEveryMs ?? loaded.cleanUpEveryMs }
  const log = createInventoryLog(config)
  const deps = await createDeps(config, log, await openInventoryTelemetry(config))
  const { batches, wholeImports, ...limits } = createConcurrencyLimits(config, PATIENCE)
  const app = await buildApp({ ...deps, ...limits, timeouts: PATIENT, ...replaced })
  const stopCleanUp = startCleanUp(deps)
  const stopping = new AbortController()
  const jobs = replaced.operators && deps.jobs
  await jobs?.open()
  if (jobs) await startImports({ ...deps, stopping: stopping.signal })
  deps.readiness.markReady()
  return {
    app,
    db: deps.db,
    logLines: async () => {
      await log.flush()
      const text = readFileSync(config.server.logFile, 'utf8')
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    },
    close: async () => {
      await app.close()
      stopping.abort()
      await Promise.all([stopCleanUp(), jobs?.close()])
      await deps.close()
      rmSync(folder, { recursive: true })
    },
  }
}
