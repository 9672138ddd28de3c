import type { Meter } from '@opentelemetry/api'
import { type QueryExecutorProvider, sql } from 'kysely'
import { type AnyTask, deadLetterQueue } from './task.ts'

interface Queues {
  /** The database of the service, with any tables. */
  readonly db: QueryExecutorProvider
  readonly schema: string
  readonly tasks: readonly AnyTask[]
}

/**
 * Reports for each task the number of waiting jobs (`jobs_queued`), the time that the oldest due job has waited for a worker
 * (`jobs_oldest_due_seconds`), and the number of dead-letter jobs (`jobs_dead`). Every process reports the same values.
 */
export function observeJobs(meter: Meter, queues: Queues): void {
  const gauges = {
    queued: meter.createObservableGauge('jobs_queued', {
      description: 'Jobs that wait for their time, a worker or their next attempt, by task',
    }),
    oldestDue: meter.createObservableGauge('jobs_oldest_due_seconds', {
      description: 'How long the oldest job whose time has come has waited for a worker, by task',
    }),
    dead: meter.createObservableGauge('jobs_dead', { description: 'Dead-letter jobs, by task' }),
  }
  meter.addBatchObservableCallback(async (result) => {
    const lengths = await measureQueues(queues)
    for (const task of queues.tasks) {
      const { count = 0, oldestDueSeconds = 0 } = lengths.get(task.name) ?? {}
      result.observe(gauges.queued, count, { task: task.name })
      result.observe(gauges.oldestDue, oldestDueSeconds, { task: task.name })
      result.observe(gauges.dead, lengths.get(deadLetterQueue(task))?.count ?? 0, { task: task.name })
    }
  }, Object.values(gauges))
}

interface QueueLength {
  readonly queue: string
  readonly count: number
  /** The waiting time of the oldest due job. 0 if no job is due. */
  readonly oldestDueSeconds: number
}

/** Measures all queues that are not empty, with dead-letter queues. The condition matches an index of the queue. */
async function measureQueues({ db, schema, tasks }: Queues): Promise<ReadonlyMap<string, QueueLength>> {
  const queues = tasks.flatMap((task) => [task.name, deadLetterQueue(task)])
  const { rows } = await sql<QueueLength>`
    SELECT name AS queue, count(*)::int AS count,
      greatest(extract(epoch FROM now() - min(start_after)), 0)::float8 AS "oldestDueSeconds"
    FROM ${sql.id(schema, 'job')} WHERE name IN (${sql.join(queues)}) AND state < 'active' AND NOT blocked
    GROUP BY 1`.execute(db)
  return new Map(rows.map((row) => [row.queue, row]))
}

interface ObservedOutbox {
  /** The database of the service, with any tables. */
  readonly db: QueryExecutorProvider
  /** The column that contains the time at which a row was written. */
  readonly writtenAt: string
}

/**
 * Reports as `jobs_outbox_oldest_seconds` how long the oldest job has waited in the table `outbox`. The value is at most a
 * second, unless the queue refuses the job or no process moves it. Every process reports the same value.
 */
export function observeOutbox(meter: Meter, { db, writtenAt }: ObservedOutbox): void {
  const gauge = meter.createObservableGauge('jobs_outbox_oldest_seconds', {
    description: 'How long the oldest job has waited to be moved from the outbox to the queue',
  })
  gauge.addCallback(async (result) => {
    const { rows } = await sql<{ seconds: number | null }>`
      SELECT greatest(extract(epoch FROM now() - min(${sql.ref(writtenAt)})), 0)::float8 AS seconds
      FROM ${sql.table('outbox')}`.execute(db)
    result.observe(rows[0]?.seconds ?? 0)
  })
}
