import { createLogger, type ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { createServiceLog } from '@trestle/service/create-service-log.ts'
import { findPooler } from '@trestle/service/prepare-database.ts'
import type { AuthConfig } from '../config.ts'
import { createDeps, type OperatorDeps, type ProcessDeps } from '../deps.ts'
import { expectMigrations, expectOwnSchema } from '../open-database.ts'
import { openAuthTelemetry } from '../open-telemetry.ts'

/** Creates the dependencies of a process that serves nothing: without metrics, traces and, by default, a log. */
export async function createQuietDeps(
  config: AuthConfig,
  log: Pick<ServiceLogger, 'logger'> = createLogger({ level: 'fatal', stdout: false }),
): Promise<ProcessDeps> {
  const server = { ...config.server, metrics: { ...config.server.metrics, enabled: false }, tracingEnabled: false }
  return createDeps(config, log, await openAuthTelemetry({ server }))
}

/**
 * Opens what an operator's command needs: what the routes of admins work with.
 * @throws Error where the service would refuse to start: behind a pooler that keeps no settings, which would
 * drop the role and the search path, in a schema in which others may create functions, or while migrations
 * are pending
 */
export async function openOperatorDeps(config: AuthConfig): Promise<OperatorDeps> {
  const log = createOperatorLog(config)
  const deps = await createQuietDeps(config, log)
  const close = async () => {
    await deps.jobs.close()
    await deps.close()
    await log.flush()
  }
  try {
    const pooler = await findPooler({ program: 'auth', ...config.database })
    if (pooler) throw pooler
    await expectOwnSchema(config)
    await expectMigrations(deps.database)
  } catch (error) {
    await close()
    throw error
  }
  return { ...deps, close }
}

/**
 * The log of commands. Where AUDIT_LOG_DISABLE_POSTGRES keeps events out of the database, they go to the log file, or else to
 * standard error, because standard output is for the answer. Otherwise nothing is logged: a failure is printed.
 */
function createOperatorLog({ server, database }: AuthConfig): ServiceLogger {
  if (database.auditInPostgres) return createLogger({ level: 'fatal', stdout: false })
  const base = { component: 'command' }
  if (server.logFile !== undefined)
    return createServiceLog({ level: 'info', stdout: false, file: server.logFile, base })
  return createServiceLog({ level: 'info', stdout: false, stderr: true, base })
}
