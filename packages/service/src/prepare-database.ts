import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { isUpToDate, type MigrateOptions, migrateAtStart } from '@trestle/database/migrations/migrate.ts'
import { waitForDatabase } from '@trestle/database/wait-for-database.ts'
import { findPooler, type ServiceConnection } from './find-pooler.ts'

export interface PrepareDatabaseOptions extends ServiceConnection {
  /** How long to go on trying, in milliseconds. */
  readonly connectTimeoutMs: number
  /** What brings the database up to date; undefined leaves it to the command. */
  readonly migrations: MigrateOptions | undefined
  readonly log: ServiceLogger
  readonly process: Pick<NodeJS.Process, 'stderr'>
}

/** Waits for the database and migrates it, before a service starts. Who looks at the terminal is told of the wait at once. */
export async function prepareDatabase(options: PrepareDatabaseOptions): Promise<void> {
  const { program, connectTimeoutMs, migrations, log, process } = options
  let isTold = false
  const onWaiting = (error: Error) => {
    if (isTold) return
    isTold = true
    process.stderr.write(`${program}: the database does not answer yet (${error.message || error.name}), trying on\n`)
    log.logger.warn({ err: error }, 'waiting for the database')
  }
  const wait = <T>(ask: () => Promise<T>) => waitForDatabase(ask, { timeoutMs: connectTimeoutMs, onWaiting })
  const [pooler, isComplete] = await Promise.all([
    wait(() => findPooler(options)),
    migrations === undefined || wait(() => isUpToDate(migrations)),
  ])
  if (migrations !== undefined && !isComplete) {
    const { migrations: names, functions, keptRelease } = await migrateAtStart(migrations)
    if (names.length > 0) log.logger.info({ migrations: names }, 'migrated')
    if (functions.length > 0) log.logger.info({ functions: functions.length }, 'SQL functions installed')
    if (keptRelease !== undefined)
      log.logger.warn({ release: keptRelease }, 'SQL functions of another build or release left as they are')
  }
  // Only now: it does not cut migrations off.
  if (pooler) throw pooler
}
