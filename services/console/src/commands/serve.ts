import { observeReadiness } from '@trestle/common/lifecycle/readiness.ts'
import { runServer, startLogged } from '@trestle/common/lifecycle/run-server.ts'
import { createLogger, type ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { openTelemetry } from '@trestle/common/telemetry/open-telemetry.ts'
import { buildApp } from '../app.ts'
import type { ConsoleConfig } from '../config.ts'
import { createDeps } from '../deps.ts'
import { VERSION } from '../version.ts'

/** @throws the error of a failed start, after it is logged */
export async function serve(config: ConsoleConfig, process: NodeJS.Process): Promise<void> {
  const log = createLogger({ level: config.telemetry.logLevel })
  await startLogged(log, config, () => start(config, log, process))
}

async function start(config: ConsoleConfig, log: ServiceLogger, process: NodeJS.Process): Promise<void> {
  const resource = { 'service.name': 'console', 'service.version': VERSION }
  const deps = createDeps(config, log, await openTelemetry(config.telemetry, { resource }))
  observeReadiness(deps.meter, deps.readiness)
  await runServer({
    app: await buildApp(deps),
    host: config.host,
    port: config.port,
    log,
    readiness: deps.readiness,
    start: async (answered) => {
      await answered
      const port = await deps.metrics.listen()
      if (port !== undefined) log.logger.info({ port }, 'metrics listening')
    },
    stop: deps.close,
    shutdownDelayMs: config.shutdownDelayMs,
    process,
  })
}
