import type { Lanes } from '@trestle/database/lanes.ts'
import { isEndedStatement } from '@trestle/database/unavailable.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import { toAttemptColumns } from '../acquirers/finish-attempt.ts'
import { callFinishPayment } from '../checkout/payment-repository.ts'
import type { ProcessDeps, QueueDeps, RowDeps } from '../deps.ts'
import { listUnsettledAttempts, type UnsettledAttempt } from '../transactions/attempt-repository.ts'
import { callFinishCharge } from '../transactions/charge-repository.ts'
import { lostAttemptsTask } from '../transactions/transaction-jobs.ts'

type LostAttemptDeps = RowDeps & QueueDeps & Pick<ProcessDeps, 'logger'>

/** Longer than a request may take, so the process that sent the attempt has ended. */
const AGE_SECONDS = 60
const BATCH_ROWS = 1_000

/**
 * Calls each attempt unknown that has been `sent` for 60 s (reference: Attempts). A repeat of its request
 * gets that outcome, and a job asks the acquirer. A second run finds only attempts that are still `sent`. An
 * attempt that cannot be written waits for the job of the next minute. All attempts wait when rows have just
 * moved: a process that has held an outcome back since before the move writes it now.
 * @throws any error but that of a statement which the database has ended, so that the job runs again
 */
export async function endLostAttempts(deps: Omit<LostAttemptDeps, 'jobs'>): Promise<Outcome> {
  const { db, lanes, outbox, placement, logger } = deps
  if (placement.hasJustMoved()) return 'done'
  const sent = await listUnsettledAttempts(db, { state: 'sent', ageSeconds: AGE_SECONDS, limit: BATCH_ROWS })
  for (const attempt of sent) {
    try {
      await finishAsUnknown(lanes, attempt)
    } catch (error) {
      // A problem with one attempt, such as the lock of its merchant, must not make later attempts wait for ever.
      if (!isEndedStatement(error)) throw error
      logger.warn({ err: error, attempt_id: attempt.id }, 'an attempt could not be called unknown')
    }
  }
  if (sent.length > 0) outbox.wake()
  return 'done'
}

async function finishAsUnknown(lanes: Lanes, { merchantId, id, kind }: UnsettledAttempt): Promise<void> {
  const unknown = { merchantId, attemptId: id, ...toAttemptColumns({ verdict: 'unknown' }) }
  await (kind === 'charge' ? callFinishCharge(lanes, unknown) : callFinishPayment(lanes, unknown))
}

/** Looks every minute for attempts of processes that have ended. */
export async function startLostAttempts(deps: LostAttemptDeps): Promise<void> {
  await deps.jobs.work(lostAttemptsTask, () => endLostAttempts(deps))
  await deps.jobs.schedule(lostAttemptsTask, '* * * * *')
}
