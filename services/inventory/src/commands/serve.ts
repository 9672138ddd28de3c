import { observeReadiness } from '@trestle/common/lifecycle/readiness.ts'
import { runServer, startLogged } from '@trestle/common/lifecycle/run-server.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { prepareDatabase } from '@trestle/service/prepare-database.ts'
import { buildApp } from '../app.ts'
import type { InventoryConfig } from '../config.ts'
import { createDeps } from '../deps.ts'
import { migrateOptions } from '../migrations.ts'
import { createInventoryLog, openInventoryTelemetry } from '../open-telemetry.ts'
import { startCleanUp } from '../use-cases/clean-up.ts'
import { startImports } from '../use-cases/run-import.ts'

/** The time for closing telemetry and the database after the jobs, in milliseconds. */
const CLOSE_MS = 2_000

/**
 * Waits for the database, migrates it, and serves until a signal stops the process.
 * @throws Error that names the log file if it cannot be written, and the error of a failed start after logging it
 */
export async function serve(config: InventoryConfig, process: NodeJS.Process): Promise<void> {
  const log = createInventoryLog(config)
  await startLogged(log, config, () => start(config, log, process))
}

async function start(config: InventoryConfig, log: ServiceLogger, process: NodeJS.Process): Promise<void> {
  // Run these in parallel: one waits for the database, and the other loads libraries.
  const [telemetry] = await Promise.all([
    openInventoryTelemetry(config),
    prepareDatabase({
      program: 'inventory',
      url: config.database.url,
      prepared: config.database.prepared,
      connectTimeoutMs: config.database.connectTimeoutMs,
      migrations: config.database.migrate ? migrateOptions(config) : undefined,
      log,
      process,
    }),
  ])
  const deps = await createDeps(config, log, telemetry)
  observeReadiness(deps.meter, deps.readiness)
  const app = await buildApp(deps)
  const stopping = new AbortController()
  let stopCleanUp: (() => Promise<void>) | undefined
  await runServer({
    app,
    host: config.server.host,
    port: config.server.port,
    log,
    readiness: deps.readiness,
    start: async (answered) => {
      // Without operators there are no imports, so the process needs no queue connections.
      if (config.operators) await deps.jobs.open(answered)
      else await answered
      const port = await deps.metrics.listen()
      if (port !== undefined) log.logger.info({ port }, 'metrics listening')
      stopCleanUp = startCleanUp(deps)
      if (config.operators) await startImports({ ...deps, stopping: stopping.signal })
    },
    stop: async (remainingMs) => {
      // A running import stops after its current batch, and another process continues it.
      stopping.abort()
      await Promise.all([stopCleanUp?.(), deps.jobs.close(remainingMs - CLOSE_MS)])
      await deps.close()
    },
    shutdownDelayMs: config.server.shutdownDelayMs,
    process,
  })
}
