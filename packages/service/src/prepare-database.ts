import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { isUpToDate, type MigrateOptions, migrateAtStart } from '@trestle/database/migrations/migrate.ts'
import { connectOnce, keepsSettings, waitForDatabase } from '@trestle/database/wait-for-database.ts'

/** The database of a service during its start. Times are in milliseconds. */
export interface PrepareDatabaseOptions extends ServiceConnection {
  readonly connectTimeoutMs: number
  /** Finds a problem of the database before anything else in it is read. */
  readonly findProblem?: (() => Promise<Error | undefined>) | undefined
  /** Brings the database up to date. If `undefined`, an operator does this with the command `migrate`. */
  readonly migrations: MigrateOptions | undefined
  readonly log: ServiceLogger
  readonly process: Pick<NodeJS.Process, 'stderr'>
}

/**
 * Waits for the database and migrates it before a service starts. While it waits, it says so on standard error immediately.
 * @throws Error if the database does not answer in time, a migration fails, or another setting is needed
 */
export async function prepareDatabase(options: PrepareDatabaseOptions): Promise<void> {
  const { program, connectTimeoutMs, migrations, log, process } = options
  let isTold = false
  const onWaiting = (error: Error) => {
    if (isTold) return
    isTold = true
    process.stderr.write(
      `${program}: the database does not answer yet (${error.message || error.name}), trying again\n`,
    )
    log.logger.warn({ err: error }, 'waiting for the database')
  }
  const wait = <T>(ask: () => Promise<T>) => waitForDatabase(ask, { timeoutMs: connectTimeoutMs, onWaiting })
  const problem = options.findProblem && (await wait(options.findProblem))
  if (problem) throw problem
  const [pooler, isComplete] = await Promise.all([
    wait(() => findPooler(options)),
    migrations === undefined || wait(() => isUpToDate(migrations)),
  ])
  if (migrations !== undefined && !isComplete) {
    const { migrations: names, functions, keptRelease, notes = [] } = await migrateAtStart(migrations)
    if (names.length > 0) log.logger.info({ migrations: names }, 'migrated')
    if (functions.length > 0) log.logger.info({ functions: functions.length }, 'SQL functions installed')
    if (keptRelease !== undefined)
      log.logger.warn({ release: keptRelease }, 'SQL functions of another build or release left as they are')
    for (const note of notes) log.logger.warn(note)
  }
  // Throw only here, so that the error does not interrupt migrations.
  if (pooler) throw pooler
}

interface ServiceConnection {
  /** The name of the program, such as `auth`. Its settings begin with `AUTH_`. */
  readonly program: string
  readonly url: string
  /** `false` if the settings say that the connection uses a pooler in transaction mode. */
  readonly prepared: boolean
}

/**
 * Checks whether the connection uses a pooler in transaction mode although the settings do not say so.
 * @returns an error that names the setting to change, or `undefined` if there is no such pooler
 * @throws Error if the database does not answer
 */
export async function findPooler({ program, url, prepared }: ServiceConnection): Promise<Error | undefined> {
  if (!prepared) {
    await connectOnce(url)
    return undefined
  }
  if (await keepsSettings(url)) return undefined
  const setting = `${program.toUpperCase()}_DB_PREPARED`
  return new Error(`the database is behind a pooler that keeps no settings of a session: set ${setting}=false`)
}
