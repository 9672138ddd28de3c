import { type Kysely, sql } from 'kysely'
import type { AnyTask } from './task.ts'

/** Jobs of a task that are not done yet. */
export interface WaitingJobs {
  readonly task: string
  /** `waiting` for their time or a worker, `running`, or `retry`: waiting after a failure. */
  readonly state: 'waiting' | 'running' | 'retry'
  readonly count: number
  readonly oldest: Date
}

interface Queues {
  // biome-ignore lint/suspicious/noExplicitAny: the database of any service
  readonly db: Kysely<any>
  /** The queue's own schema. */
  readonly schema: string
  readonly tasks: readonly AnyTask[]
}

/** What lies in the queues, by task and state. */
export async function listWaitingJobs({ db, schema, tasks }: Queues): Promise<readonly WaitingJobs[]> {
  const { rows } = await sql<WaitingJobs>`
    SELECT name AS task, CASE state::text WHEN 'created' THEN 'waiting' WHEN 'active' THEN 'running' ELSE 'retry' END AS state,
      count(*)::int AS count, min(created_on) AS oldest
    FROM ${sql.id(schema, 'job')}
    WHERE name IN (${sql.join(tasks.map(({ name }) => name))}) AND state::text IN ('created', 'retry', 'active')
    GROUP BY 1, 2 ORDER BY 1, 2`.execute(db)
  return rows.map((row) => ({ ...row, oldest: new Date(row.oldest) }))
}
