import { OWN_PATH, underSettings } from '@trestle/database/driver/session-settings.ts'
import type { Kysely, QueryExecutorProvider } from 'kysely'
import type { PgBoss } from 'pg-boss'
import { type AnyTask, deadLetterQueue } from './task.ts'

/** How to connect to the queue of a service. The queue has its own schema in the database of the service. */
export interface QueueConfig {
  readonly url: string
  /** The schema of the queue, such as `auth_jobs`. */
  readonly schema: string
  readonly role?: string | undefined
  /** `false` behind a pooler in transaction mode. Jobs are then found only by polling. */
  readonly prepared: boolean
  readonly applicationName: string
  readonly onError: (error: Error) => void
}

/** The maximum time of a statement of the queue. Clean-up after a long outage takes seconds. */
const STATEMENT_MS = 40_000
/**
 * The maximum time to wait for the result of a statement. Without it, a server that has vanished would not be noticed. The types
 * of pg-boss do not declare this option, but pg-boss passes it to its connections.
 */
const ANSWER_LIMIT = { query_timeout: STATEMENT_MS + 2_000 }
/** How often the queue looks for jobs of killed workers. The default is a minute, too long for sign-in codes. */
const SUPERVISE_SECONDS = 5
const REDRIVE_BATCH_JOBS = 1_000

/**
 * Loads the libraries of the queue and of encrypted payloads, 80 files. The service answers its first requests before they are
 * loaded.
 */
export function loadLibraries(): Promise<[typeof import('pg-boss'), typeof import('jose')]> {
  return Promise.all([import('pg-boss'), import('jose')])
}

/** A database transaction that adds jobs, for a service with any tables. */
export type JobTransaction = QueryExecutorProvider & Pick<Kysely<unknown>, 'executeQuery'>

/** The open queue, and the function with which it uses a transaction of Kysely. */
export interface Queue {
  readonly boss: PgBoss
  readonly fromKysely: typeof import('pg-boss').fromKysely
}

/** Connects to the queue. It also loads the library for encrypted payloads, so that no job waits for the library. */
export async function openQueue(config: QueueConfig): Promise<Queue> {
  const [{ PgBoss, fromKysely }] = await loadLibraries()
  const boss = new PgBoss({
    schema: config.schema,
    application_name: config.applicationName,
    max: 3,
    migrate: false,
    createSchema: false,
    reindex: false,
    monitorVacuum: false,
    // The list of instances is not used. `/ready` and the metrics say which processes work.
    registerInstance: false,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
    useListenNotify: config.prepared,
    ...ANSWER_LIMIT,
    ...underSettings(
      { ...OWN_PATH, ...(config.role === undefined ? {} : { role: config.role }), statement_timeout: STATEMENT_MS },
      { url: config.url, hasSession: config.prepared },
    ),
  })
  boss.on('error', config.onError)
  await boss.start()
  return { boss, fromKysely }
}

/** Puts the dead-letter jobs of a task back into its queue, in `trx` if it is given. @returns their number */
export async function retryDeadLetterJobs(
  { boss, fromKysely }: Queue,
  task: AnyTask,
  trx?: JobTransaction,
): Promise<number> {
  const options = { limit: REDRIVE_BATCH_JOBS, ...(trx && { db: fromKysely(trx) }) }
  let total = 0
  for (;;) {
    const moved = await boss.redrive(deadLetterQueue(task), options)
    total += moved
    if (moved < REDRIVE_BATCH_JOBS) return total
  }
}

/**
 * Puts a job that a worker holds back into its queue without counting the attempt. The queue counts an attempt when it gives out
 * a job with `started_on`, so this column becomes `NULL`. The job waits two seconds before a worker can get it again, and the
 * current worker reports its batch in this time. Otherwise the queue would take that report for the report of the next worker.
 */
export async function putBack(boss: PgBoss, schema: string, { id, name }: { id: string; name: string }): Promise<void> {
  await boss.getDb().executeSql(
    `UPDATE "${schema}".job SET started_on = NULL, heartbeat_on = NULL, start_after = now() + interval '2 seconds',
       state = (CASE WHEN retry_count = 0 THEN 'created' ELSE 'retry' END)::"${schema}".job_state
     WHERE name = $1 AND id = $2 AND state = 'active'`,
    [name, id],
  )
}

/** Delays a job that waits for its next attempt by at least `seconds` seconds from now. */
export async function postpone(
  boss: PgBoss,
  schema: string,
  { id, name }: { id: string; name: string },
  seconds: number,
): Promise<void> {
  await boss.getDb().executeSql(
    `UPDATE "${schema}".job SET start_after = greatest(start_after, now() + $3 * interval '1 second')
     WHERE name = $1 AND id = $2 AND state = 'retry'`,
    [name, id, seconds],
  )
}
