import type { Meter } from '@opentelemetry/api'
import { type Kysely, sql } from 'kysely'

interface ObservedOutbox {
  // biome-ignore lint/suspicious/noExplicitAny: the outbox of any service
  readonly db: Kysely<any>
  /** The column that says when a row was written. */
  readonly writtenAt: string
}

/**
 * Reports as `jobs_outbox_oldest_seconds` for how long the oldest job has waited in the table `outbox` to be moved to the
 * queue: a second at most, unless the queue does not take it or nobody moves it. Of every process the same.
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
