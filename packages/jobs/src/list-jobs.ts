import { type QueryExecutorProvider, sql } from 'kysely'
import { type AnyTask, deadLetterQueue } from './task.ts'

/** Dead-letter jobs of one task that failed for the same reason. */
export interface DeadLetterJobs {
  readonly task: string
  readonly reason: string
  readonly count: number
  readonly lastAt: Date
}

/** Jobs of one task that are not done. */
export interface WaitingJobs {
  readonly task: string
  /** `waiting` until it is due or a worker is free, `running`, or `retry`: waiting after a failed attempt. */
  readonly state: 'waiting' | 'running' | 'retry'
  readonly count: number
  readonly oldest: Date
}

interface Queues {
  /** The database of the service, with any tables. */
  readonly db: QueryExecutorProvider
  readonly schema: string
  readonly tasks: readonly AnyTask[]
}

const REASONS_MAX = 100

/**
 * Lists the newest jobs of all tasks in one state, at most 100. `failed` means dead-letter jobs. The query first selects the jobs
 * and then reads their output, because the output of a job may have 300 kB.
 */
export async function listJobs(
  { db, schema, tasks }: Queues,
  state: 'waiting' | 'running' | 'failed',
): Promise<readonly ListedJob[]> {
  const columns = {
    waiting: OF_TASK,
    running: OF_TASK,
    failed: sql`coalesce(source_name, name) AS task, coalesce(source_created_on, created_on) AS created,
      coalesce(source_retry_count, 0) + 1 AS attempts, source_output ->> 'message' AS error`,
  }
  const states = { waiting: sql`('created', 'retry')`, running: sql`('active')`, failed: sql`('created')` }
  const queues = tasks.map((task) => (state === 'failed' ? deadLetterQueue(task) : task.name))
  const { rows } = await sql<ListedJob>`
    SELECT coalesce(source_root_id, id)::text AS id, ${columns[state]}
    FROM (
      SELECT * FROM ${sql.id(schema, 'job')} WHERE name IN (${sql.join(queues)}) AND state IN ${states[state]}
      ORDER BY created_on DESC, id LIMIT ${sql.lit(JOBS_MAX)}
    ) newest ORDER BY created_on DESC, newest.id`.execute(db)
  return rows.map((row) => ({ ...row, created: new Date(row.created) }))
}

/** Counts the jobs in the dead-letter queues by task and reason, the most frequent first, at most 100 reasons. */
export async function listDeadLetterJobs({ db, schema, tasks }: Queues): Promise<readonly DeadLetterJobs[]> {
  const { rows } = await sql<DeadLetterJobs>`
    SELECT source_name AS task, coalesce(source_output ->> 'message', 'unknown') AS reason,
      count(*)::int AS count, max(created_on) AS "lastAt"
    FROM ${sql.id(schema, 'job')} WHERE name IN (${sql.join(tasks.map(deadLetterQueue))})
    GROUP BY 1, 2 ORDER BY 3 DESC LIMIT ${sql.lit(REASONS_MAX)}`.execute(db)
  return rows.map((row) => ({ ...row, lastAt: new Date(row.lastAt) }))
}

export async function listWaitingJobs({ db, schema, tasks }: Queues): Promise<readonly WaitingJobs[]> {
  const { rows } = await sql<WaitingJobs>`
    SELECT name AS task, CASE state::text WHEN 'created' THEN 'waiting' WHEN 'active' THEN 'running' ELSE 'retry' END AS state,
      count(*)::int AS count, min(created_on) AS oldest
    FROM ${sql.id(schema, 'job')}
    WHERE name IN (${sql.join(tasks.map(({ name }) => name))}) AND state::text IN ('created', 'retry', 'active')
    GROUP BY 1, 2 ORDER BY 1, 2`.execute(db)
  return rows.map((row) => ({ ...row, oldest: new Date(row.oldest) }))
}

/** The number of jobs of a task that wait, run, or are dead-letter jobs. */
export interface TaskCounts {
  readonly name: string
  readonly waiting: number
  readonly running: number
  readonly failed: number
}

/** Counts the jobs of each task that are not done, in the order of `tasks`. */
export async function countJobs({ db, schema, tasks }: Queues): Promise<readonly TaskCounts[]> {
  const queues = tasks.flatMap((task) => [task.name, deadLetterQueue(task)])
  // The condition matches a partial index of the queue, which leaves out jobs that are done.
  const { rows } = await sql<{ queue: string; waiting: number; running: number }>`
    SELECT name AS queue, (count(*) FILTER (WHERE state <> 'active'))::int AS waiting,
      (count(*) FILTER (WHERE state = 'active'))::int AS running
    FROM ${sql.id(schema, 'job')}
    WHERE name IN (${sql.join(queues)}) AND state IN ('created', 'retry', 'active') GROUP BY 1`.execute(db)
  const byQueue = new Map(rows.map((row) => [row.queue, row]))
  return tasks.map((task) => ({
    name: task.name,
    waiting: byQueue.get(task.name)?.waiting ?? 0,
    running: byQueue.get(task.name)?.running ?? 0,
    failed: byQueue.get(deadLetterQueue(task))?.waiting ?? 0,
  }))
}

/** A job that is not done. It has no payload, because some payloads are secret. */
export interface ListedJob {
  /** The id that `send` returned for the job. A dead-letter job keeps this id. */
  readonly id: string
  readonly task: string
  /** When the job was sent, or when it was put back from the dead-letter queue. */
  readonly created: Date
  readonly attempts: number
  /** Why the last attempt failed. `null` if no attempt has failed. */
  readonly error: string | null
}

const JOBS_MAX = 100

const OF_TASK = sql`name AS task, created_on AS created,
  CASE WHEN started_on IS NULL THEN 0 ELSE retry_count + 1 END AS attempts, output ->> 'message' AS error`
