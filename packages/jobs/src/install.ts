import type { PgBoss } from 'pg-boss'
import pgBoss from 'pg-boss/package.json' with { type: 'json' }
import { type AnyTask, deadQueue } from './task.ts'

export interface InstallOptions {
  /** A connection that may create schemas. */
  readonly url: string
  /** The queue's own schema, for example `auth_jobs`. */
  readonly schema: string
  readonly tasks: readonly AnyTask[]
}

/** What `installJobs` makes depends on this, besides the options: for `settings` of a migration run. */
export const QUEUE_VERSION: string = pgBoss.version

/** Makes or updates the queue's schema and its queues. Part of `migrate`, under its lock; changes nothing when up to date. */
export async function installJobs({ url, schema, tasks }: InstallOptions): Promise<void> {
  // Here: a start that has nothing to install need not load it.
  const { PgBoss } = await import('pg-boss')
  const boss = new PgBoss({
    connectionString: url,
    schema,
    max: 1,
    supervise: false,
    schedule: false,
    migrate: true,
    // An install that is killed would leave its row.
    registerInstance: false,
  })
  boss.on('error', () => {})
  await boss.start()
  try {
    for (const task of tasks) {
      await createOrUpdate(boss, deadQueue(task), { deleteAfterSeconds: 0, retentionSeconds: DEAD_KEPT_SECONDS })
      await createOrUpdate(boss, task.name, {
        notify: true,
        heartbeatSeconds: 10,
        retryLimit: task.retryLimit,
        retryBackoff: true,
        retryDelay: task.firstDelaySeconds,
        retryDelayMax: task.longestDelaySeconds,
        expireInSeconds: task.timeoutSeconds + EXPIRY_MARGIN_SECONDS,
        deleteAfterSeconds: DONE_KEPT_SECONDS,
        deadLetter: deadQueue(task),
      })
    }
  } finally {
    await boss.stop({ graceful: false })
  }
}

/** The worker ends an attempt by itself; the queue takes for lost what says nothing for longer. */
const EXPIRY_MARGIN_SECONDS = 15
const DEAD_KEPT_SECONDS = 90 * 86_400
const DONE_KEPT_SECONDS = 3_600

type QueueOptions = NonNullable<Parameters<PgBoss['createQueue']>[1]>

async function createOrUpdate(boss: PgBoss, name: string, options: QueueOptions): Promise<void> {
  await boss.createQueue(name, options)
  await boss.updateQueue(name, options)
}
