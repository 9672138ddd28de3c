import type { Meter } from '@opentelemetry/api'
import { deadQueue } from '@trestle/jobs/task.ts'
import { type Kysely, sql } from 'kysely'
import { countUnknownAttempts } from '../attempts/attempt-repository.ts'
import type { PaymentsTables } from '../database.ts'
import { acquirerTask } from './acquirer-task.ts'
import { countOpenExceptions } from './exception-repository.ts'

interface Observed {
  readonly db: Kysely<PaymentsTables>
  /** The queue's own schema. */
  readonly schema: string
}

/**
 * Reports what an operator must look at: outcomes that nobody knows, exceptions that wait, and movements on their way to the
 * acquirers by the state of their job. Of every process the same numbers.
 */
export function observeAcquiring(meter: Meter, { db, schema }: Observed): void {
  const unknown = meter.createObservableGauge('payments_attempts_unknown', {
    description: 'Attempts of unknown outcome',
  })
  unknown.addCallback(async (result) => result.observe(await countUnknownAttempts(db)))
  const open = meter.createObservableGauge('payments_acquirer_exceptions_open', {
    description: 'What acquirers refused or said that our books could not follow',
  })
  open.addCallback(async (result) => result.observe(await countOpenExceptions(db)))
  const waiting = meter.createObservableGauge('payments_acquirer_tasks', {
    description: 'Movements on their way to acquirers, by state of their job',
  })
  waiting.addCallback(async (result) => {
    const counts = new Map((await countAcquirerJobs({ db, schema })).map(({ state, count }) => [state, count]))
    for (const state of STATES) result.observe(counts.get(state) ?? 0, { state })
  })
}

/** `created`, and `retry` after a failure: waiting; `active`: under way; `dead`: failed for good. */
const STATES = ['created', 'retry', 'active', 'dead'] as const

async function countAcquirerJobs({ db, schema }: Observed): Promise<readonly { state: string; count: number }[]> {
  const { rows } = await sql<{ state: string; count: number }>`
    SELECT CASE name WHEN ${acquirerTask.name} THEN state::text ELSE 'dead' END AS state, count(*)::int AS count
    FROM ${sql.id(schema, 'job')}
    WHERE name IN (${acquirerTask.name}, ${deadQueue(acquirerTask)}) AND state IN ('created', 'retry', 'active')
    GROUP BY 1`.execute(db)
  return rows
}
