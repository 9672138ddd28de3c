import type { Lanes } from '@trestle/database/lanes.ts'
import { isEndedStatement } from '@trestle/database/unavailable.ts'
import type { Outcome } from '@trestle/jobs/jobs.ts'
import { callFinishPayment } from '../checkout/payment-repository.ts'
import type { ProcessDeps } from '../deps.ts'
import { listUnsettledAttempts, type UnsettledAttempt } from '../transactions/attempt-repository.ts'
import { callFinishCharge } from '../transactions/charge-repository.ts'
import { statusCodeOf } from '../transactions/processing-error.ts'
import { attemptSweepTask } from '../transactions/transaction-tasks.ts'

type SweepDeps = Pick<ProcessDeps, 'db' | 'lanes' | 'jobs' | 'outbox' | 'logger'>

/** Longer than a request may take: whoever sent the attempt is gone. */
const AGE_SECONDS = 60
const BATCH = 1_000
const UNKNOWN = { outcome: 'unknown', errorCode: 12, acquirerRef: null } as const

/** Looks for attempts of processes that are gone, every minute. */
export async function workOnAttemptSweeps(deps: SweepDeps): Promise<void> {
  await deps.jobs.work(attemptSweepTask, () => sweepAttempts(deps))
  await deps.jobs.schedule(attemptSweepTask, '* * * * *')
}

/** Calls each attempt unknown that was sent and never finished: whoever repeats its key is told so, and a job finds out. */
export async function sweepAttempts({ db, lanes, outbox, logger }: Omit<SweepDeps, 'jobs'>): Promise<Outcome> {
  const sent = await listUnsettledAttempts(db, { status: 'sent', ageSeconds: AGE_SECONDS, limit: BATCH })
  for (const attempt of sent) {
    try {
      await callUnknown(lanes, attempt)
    } catch (error) {
      // Whatever is wrong with one (its merchant's lock, for example), those behind it must not wait for ever.
      if (!isEndedStatement(error)) throw error
      logger.warn({ err: error, attempt_id: attempt.id }, 'an attempt could not be called unknown')
    }
  }
  if (sent.length > 0) outbox.wake()
  return 'done'
}

async function callUnknown(lanes: Lanes, { merchantId, id, kind }: UnsettledAttempt): Promise<void> {
  const unknown = { merchantId, attemptId: id, ...UNKNOWN }
  if (kind === 'charge') await callFinishCharge(lanes, unknown)
  else await callFinishPayment(lanes, { ...unknown, statusCode: statusCodeOf(UNKNOWN.errorCode), networkRef: null })
}
