import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import type { EmbeddedService } from '@trestle/testing/embedded-service.ts'
import { buildApp } from '../src/app.ts'
import { otherCommands } from '../src/commands/other-commands.ts'
import { loadInventoryConfig } from '../src/config.ts'
import { createDeps } from '../src/deps.ts'
import { migrateOptions } from '../src/migrations.ts'
import { openInventoryTelemetry } from '../src/open-telemetry.ts'
import { startImports } from '../src/use-cases/run-import.ts'

/** Inventory, for tests of another service. */
export const embeddedService: EmbeddedService = {
  migrate: (settings) => migrateUp(migrateOptions(loadInventoryConfig(settings))),
  open: async (settings) => {
    const config = loadInventoryConfig(settings)
    const log = createLogger({ level: 'fatal', stdout: false })
    const deps = await createDeps(config, log, await openInventoryTelemetry(config))
    deps.readiness.markReady()
    const stopping = new AbortController()
    await deps.jobs.open()
    await startImports({ ...deps, stopping: stopping.signal })
    return {
      app: await buildApp(deps),
      stopWork: (withinMs) => {
        stopping.abort()
        return deps.jobs.close(withinMs)
      },
      close: deps.close,
    }
  },
  commands: (settings, process) => otherCommands({ load: () => loadInventoryConfig(settings), process }),
}
