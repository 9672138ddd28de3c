import { createLogger } from '@trestle/common/telemetry/logger.ts'
import type { EmbeddedService } from '@trestle/testing/embedded-service.ts'
import { buildApp } from '../src/app.ts'
import { otherCommands } from '../src/commands/other-commands.ts'
import { startWork, stopWork } from '../src/commands/serve.ts'
import { loadPaymentsConfig } from '../src/config.ts'
import { createDeps } from '../src/deps.ts'
import { migrateToLatest } from '../src/migrations.ts'
import { openPaymentsTelemetry } from '../src/open-telemetry.ts'

/** The payments service, for tests of another service. */
export const embeddedService: EmbeddedService = {
  migrate: (settings) => migrateToLatest(loadPaymentsConfig(settings)),
  open: async (settings) => {
    const config = loadPaymentsConfig(settings)
    const log = createLogger({ level: 'fatal', stdout: false })
    const deps = await createDeps(config, log, await openPaymentsTelemetry(config))
    deps.readiness.markReady()
    await deps.jobs.open()
    await startWork(deps)
    return { app: await buildApp(deps), stopWork: (withinMs) => stopWork(deps, withinMs), close: deps.close }
  },
  commands: (settings, process) =>
    otherCommands({ load: () => loadPaymentsConfig(settings), now: () => new Date(), process }),
}
