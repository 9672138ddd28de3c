import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { waitForDatabase } from '@trestle/database/wait-for-database.ts'
import { requireSession, type ServiceConnection } from './require-session.ts'

export interface PrepareDatabaseOptions extends ServiceConnection {
  /** The connection that migrates. */
  readonly migrationUrl: string
  /** How long to go on trying, in milliseconds. */
  readonly connectTimeoutMs: number
  /** Brings the database up to date and answers the names of what ran; undefined leaves it to the command. */
  readonly migrate: (() => Promise<readonly string[]>) | undefined
  readonly log: ServiceLogger
  readonly process: Pick<NodeJS.Process, 'stderr'>
}

/** Waits for the database and migrates it, before a service starts. Who looks at the terminal is told of the wait at once. */
export async function prepareDatabase(options: PrepareDatabaseOptions): Promise<void> {
  const { program, url, migrationUrl, connectTimeoutMs, migrate, log, process } = options
  for (const needed of new Set(migrate ? [migrationUrl, url] : [url])) {
    await waitForDatabase({
      url: needed,
      timeoutMs: connectTimeoutMs,
      onWaiting: (error) => {
        process.stderr.write(
          `${program}: the database does not answer yet (${error.message || error.name}), trying on\n`,
        )
        log.logger.warn({ err: error }, 'waiting for the database')
      },
    })
  }
  const session = requireSession(options)
  // Looked at meanwhile, and told below: it does not cut migrations off.
  session.catch(() => {})
  const migrations = migrate ? await migrate() : []
  if (migrations.length > 0) log.logger.info({ migrations }, 'migrated')
  await session
}
