import { OWN_PATH, underSettings } from '@trestle/database/driver/session-settings.ts'
import type { Kysely, QueryExecutorProvider } from 'kysely'
import type { PgBoss } from 'pg-boss'
import { type AnyTask, deadLetterQueue } from './task.ts'

/** How to reach the queue of a service, which is a schema of its own in the database of the service. */
export interface QueueConfig {
  readonly url: string
  /** The queue's own schema, for example `auth_jobs`. */
  readonly schema: string
  readonly role?: string | undefined
  /** False behind a pooler in transaction mode. Jobs are then found by polling only. */
  readonly prepared: boolean
  readonly applicationName: string
  readonly onError: (error: Error) => void
}

/** How long a statement of the queue may take. Clean-up after a long outage takes seconds. */
const STATEMENT_MS = 40_000
/**
 * How long its answer may take: without this limit a server that has vanished would go unnoticed. The types
 * of pg-boss have no such option, which it hands on to its connections.
 */
const ANSWER_LIMIT = { query_timeout: STATEMENT_MS + 2_000 }
/** How often jobs of killed workers are looked for. The default is a minute, during which codes would not be sent. */
const SUPERVISE_SECONDS = 5
const REDRIVE_BATCH_JOBS = 1_000

/**
 * Loads and returns the libraries of the queue and of encrypted payloads, 80 files. A start answers requests
 * before they are loaded.
 */
export function loadLibraries(): Promise<[typeof import('pg-boss'), typeof import('jose')]> {
  return Promise.all([import('pg-boss'), import('jose')])
}

/** A database transaction that adds jobs, over the tables of any service. */
export type JobTransaction = QueryExecutorProvider & Pick<Kysely<unknown>, 'executeQuery'>

/** The open queue, and what lets it use a transaction of Kysely. */
export interface Queue {
  readonly boss: PgBoss
  readonly fromKysely: typeof import('pg-boss').fromKysely
}

/** Connects to the queue. Loads the library of encrypted payloads too, before a job needs it. */
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
    // Nobody reads the list of instances: /ready and the metrics say which processes work.
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

/** Puts the dead-letter jobs of a task back into its queue, in the transaction if there is one. @returns their number */
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
 * Puts a job that a worker holds back into its queue, with its attempts as they were: the queue counts an
 * attempt when it gives out a job that has `started_on`. Nobody gets the job again before the worker has
 * reported its batch, which is at once: the queue would take the report for the report of the next worker.
 */
export async function putBack(boss: PgBoss, schema: string, { id, name }: { id: string; name: string }): Promise<void> {
  await boss.getDb().executeSql(
    `UPDATE "${schema}".job SET started_on = NULL, heartbeat_on = NULL, start_after = now() + interval '2 seconds',
       state = (CASE WHEN retry_count = 0 THEN 'created' ELSE 'retry' END)::"${schema}".job_state
     WHERE name = $1 AND id = $2 AND state = 'active'`,
    [name, id],
  )
}

/** Lets a job that waits for its next attempt wait for at least so many seconds. */
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
