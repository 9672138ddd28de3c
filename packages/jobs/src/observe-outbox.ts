import type { Meter } from '@opentelemetry/api'
import { type QueryExecutorProvider, sql } from 'kysely'

interface ObservedOutbox {
  /** The database of the service, whatever its tables are. */
  readonly db: QueryExecutorProvider
  /** The column with the time at which a row was written. */
  readonly writtenAt: string
}

/**
 * Reports as `jobs_outbox_oldest_seconds` how long the oldest job has waited in the table `outbox` for the queue. It is at most
 * a second, unless the queue refuses the job or no process moves it. Every process reports the same value.
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
