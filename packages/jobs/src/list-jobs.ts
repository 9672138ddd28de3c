import { type QueryExecutorProvider, sql } from 'kysely'
import { type AnyTask, deadQueue } from './task.ts'

/** Jobs of one task that have failed for good, for the same reason. */
export interface DeadJobs {
  readonly task: string
  /** The message of the error of the last attempt. */
  readonly reason: string
  readonly count: number
  readonly lastAt: Date
}

/** Jobs of one task that are not done yet. */
export interface WaitingJobs {
  readonly task: string
  /** `waiting` for their time or a worker, `running`, or `retry`: waiting after a failure. */
  readonly state: 'waiting' | 'running' | 'retry'
  readonly count: number
  readonly oldest: Date
}

interface Queues {
  /** The database of the service, whatever its tables are. */
  readonly db: QueryExecutorProvider
  /** The queue's own schema. */
  readonly schema: string
  readonly tasks: readonly AnyTask[]
}

const REASONS_MAX = 100

/** Lists the jobs in the dead-letter queues by task and reason, the most frequent first, at most 100 reasons. */
export async function listDeadJobs({ db, schema, tasks }: Queues): Promise<readonly DeadJobs[]> {
  const { rows } = await sql<DeadJobs>`
    SELECT source_name AS task, coalesce(source_output ->> 'message', 'unknown') AS reason,
      count(*)::int AS count, max(created_on) AS "lastAt"
    FROM ${sql.id(schema, 'job')} WHERE name IN (${sql.join(tasks.map(deadQueue))})
    GROUP BY 1, 2 ORDER BY 3 DESC LIMIT ${sql.lit(REASONS_MAX)}`.execute(db)
  return rows.map((row) => ({ ...row, lastAt: new Date(row.lastAt) }))
}

/** Lists the jobs that wait or run, by task and state. */
export async function listWaitingJobs({ db, schema, tasks }: Queues): Promise<readonly WaitingJobs[]> {
  const { rows } = await sql<WaitingJobs>`
    SELECT name AS task, CASE state::text WHEN 'created' THEN 'waiting' WHEN 'active' THEN 'running' ELSE 'retry' END AS state,
      count(*)::int AS count, min(created_on) AS oldest
    FROM ${sql.id(schema, 'job')}
    WHERE name IN (${sql.join(tasks.map(({ name }) => name))}) AND state::text IN ('created', 'retry', 'active')
    GROUP BY 1, 2 ORDER BY 1, 2`.execute(db)
  return rows.map((row) => ({ ...row, oldest: new Date(row.oldest) }))
}
