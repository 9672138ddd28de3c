import { createLogger } from '@trestle/common/telemetry/logger.ts'
import type { EmbeddedService } from '@trestle/testing/embedded-service.ts'
import { buildApp } from '../src/app.ts'
import { runWorkAlone } from '../src/audit/audit-log.ts'
import { BY_COMMAND, getUserId } from '../src/commands/operator-deps.ts'
import { otherCommands } from '../src/commands/other-commands.ts'
import { startWork, stopWork } from '../src/commands/serve.ts'
import { loadAuthConfig } from '../src/config.ts'
import { createDeps } from '../src/deps.ts'
import { migrateToLatest } from '../src/migrations.ts'
import { openAuthTelemetry } from '../src/open-telemetry.ts'
import { assignConsoleRole } from '../src/use-cases/assign-console-role.ts'
import { runRemembered } from './remembered-hashes.ts'

/** Auth for tests of other services. */
export const embeddedService: EmbeddedService = {
  migrate: (settings) => migrateToLatest(loadAuthConfig(settings)),
  open: async (settings) => {
    const config = loadAuthConfig(settings)
    const log = createLogger({ level: 'fatal', stdout: false })
    const deps = await createDeps(config, log, await openAuthTelemetry(config), runRemembered)
    await deps.signingKeys.load()
    deps.readiness.markReady()
    await deps.jobs.open()
    await startWork(deps)
    return {
      app: await buildApp(deps),
      assignRole: async (email, role) =>
        assignConsoleRole(deps, { ...BY_COMMAND, userId: await getUserId(deps, email), role }, runWorkAlone),
      stopWork: (withinMs) => stopWork(deps, withinMs),
      close: deps.close,
    }
  },
  commands: (settings, process) =>
    otherCommands({ load: () => loadAuthConfig(settings), now: () => new Date(), process }),
}
