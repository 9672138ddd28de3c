import type { Meter } from '@opentelemetry/api'
import { deadLetterQueue, defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { countUnknownAttempts } from '../transactions/attempt-repository.ts'
import { countOpenExceptions } from './exception-repository.ts'

/** A booked capture, refund or void to send to the acquirer. The SQL function that books it inserts this job. */
export interface AcquirerJob {
  readonly merchantId: string
  readonly id: string
}

/** Sends a capture, refund or void to its acquirer. */
export const acquirerTask = defineTask<AcquirerJob>('acquirer', {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 30,
  // At most eight operations per merchant run at a time, so a slow acquirer leaves most slots to other merchants.
  groups: { jobsMax: 128, groupJobsMax: 8 },
})

/** Stops waiting for acquirers that have not answered. */
export const confirmationTask = defineTask<Record<string, never>>('confirmation', {
  retryLimit: 3,
  firstDelaySeconds: 60,
  delaySecondsMax: 600,
  timeoutSeconds: 3_000,
})

/** Fetches the events of acquirers and applies them to the books. */
export const acquirerEventsTask = defineTask<Record<string, never>>('acquirer_events', {
  retryLimit: 0,
  firstDelaySeconds: 1,
  delaySecondsMax: 1,
  timeoutSeconds: 55,
})

interface Observed {
  readonly db: Db
  /** The schema of the job queue. */
  readonly schema: string
}

/**
 * Reports the work that waits for an operator: attempts of unknown outcome, open exceptions, and operations on their way to
 * acquirers, by the state of their job. Every process reports the same numbers.
 */
export function observeAcquiring(meter: Meter, { db, schema }: Observed): void {
  const unknown = meter.createObservableGauge('payments_attempts_unknown', {
    description: 'Attempts of unknown outcome',
  })
  unknown.addCallback(async (result) => result.observe(await countUnknownAttempts(db)))
  const open = meter.createObservableGauge('payments_acquirer_exceptions_open', {
    description: 'Exceptions of acquirers that wait for the operator',
  })
  open.addCallback(async (result) => result.observe(await countOpenExceptions(db)))
  const waiting = meter.createObservableGauge('payments_acquirer_tasks', {
    description: 'Operations on their way to acquirers, by state of their job',
  })
  waiting.addCallback(async (result) => {
    const counts = new Map((await countAcquirerJobs({ db, schema })).map(({ state, count }) => [state, count]))
    for (const state of STATES) result.observe(counts.get(state) ?? 0, { state })
  })
}

/** The states of a job. `created` and `retry` (after a failure) wait, `active` is running, and `dead` is not tried again. */
const STATES = ['created', 'retry', 'active', 'dead'] as const

async function countAcquirerJobs({ db, schema }: Observed): Promise<readonly { state: string; count: number }[]> {
  const { rows } = await sql<{ state: string; count: number }>`
    SELECT CASE name WHEN ${acquirerTask.name} THEN state::text ELSE 'dead' END AS state, count(*)::int AS count
    FROM ${sql.id(schema, 'job')}
    WHERE name IN (${acquirerTask.name}, ${deadLetterQueue(acquirerTask)}) AND state IN ('created', 'retry', 'active')
    GROUP BY 1`.execute(db)
  return rows
}
