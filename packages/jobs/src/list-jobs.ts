import { type Kysely, sql } from 'kysely'
import { type AnyTask, deadQueue } from './task.ts'

/** Jobs of a task that have failed for good, and for the same reason. */
export interface DeadJobs {
  readonly task: string
  /** What the last attempt threw. */
  readonly reason: string
  readonly count: number
  readonly lastAt: Date
}

interface DeadQueues {
  // biome-ignore lint/suspicious/noExplicitAny: the database of any service
  readonly db: Kysely<any>
  /** The queue's own schema. */
  readonly schema: string
  readonly tasks: readonly AnyTask[]
}

const REASONS_MAX = 100

/** What lies in the dead-letter queues, most of it first. */
export async function listDeadJobs({ db, schema, tasks }: DeadQueues): Promise<readonly DeadJobs[]> {
  const { rows } = await sql<DeadJobs>`
    SELECT source_name AS task, coalesce(source_output ->> 'message', 'unknown') AS reason,
      count(*)::int AS count, max(created_on) AS "lastAt"
    FROM ${sql.id(schema, 'job')} WHERE name IN (${sql.join(tasks.map(deadQueue))})
    GROUP BY 1, 2 ORDER BY 3 DESC LIMIT ${sql.lit(REASONS_MAX)}`.execute(db)
  return rows.map((row) => ({ ...row, lastAt: new Date(row.lastAt) }))
}
