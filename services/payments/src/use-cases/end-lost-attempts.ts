import type { Lanes } from '@trestle/database/lanes.ts'
import { isEndedStatement } from '@trestle/database/unavailable.ts'
import { toAttemptColumns } from '../acquirers/finish-attempt.ts'
import { callFinishPayment } from '../checkout/payment-repository.ts'
import type { ProcessDeps, RowDeps } from '../deps.ts'
import { listUnsettledAttempts, type UnsettledAttempt } from '../transactions/attempt-repository.ts'
import { callFinishCharge } from '../transactions/charge-repository.ts'

/** The parts of the process that a look for lost attempts uses. */
export type LostAttemptDeps = RowDeps & Pick<ProcessDeps, 'logger' | 'outbox'>

/** Longer than an acquirer has to answer (10 s), so its answer is being written, or the process that asked has ended. */
const AGE_SECONDS = 15
const BATCH_ROWS = 1_000

/**
 * Calls each attempt unknown that has been `sent` for 15 s, and that the look before found too (reference: Attempts). A repeat of
 * its request gets that outcome, and a job asks the acquirer. A second process finds only attempts that are still `sent`. An
 * attempt that cannot be written waits for the next look. All attempts wait when rows have just moved: a process that has held
 * an outcome back since before the move writes it now.
 * @param seen the attempts that the look before has found
 * @returns the attempts that this look has found
 */
export async function endLostAttempts(
  { db, lanes, outbox, placement, logger }: LostAttemptDeps,
  seen: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (placement.hasJustMoved()) return new Set()
  const sent = await listUnsettledAttempts(db, { state: 'sent', ageSeconds: AGE_SECONDS, limit: BATCH_ROWS })
  const lost = sent.filter(({ id }) => seen.has(id))
  for (const attempt of lost) {
    try {
      await finishAsUnknown(lanes, attempt)
    } catch (error) {
      // A problem with one attempt, such as the lock of its merchant, must not make later attempts wait for ever.
      if (!isEndedStatement(error)) throw error
      logger.warn({ err: error, attempt_id: attempt.id }, 'an attempt could not be called unknown')
    }
  }
  if (lost.length > 0) outbox.wake()
  return new Set(sent.map(({ id }) => id))
}

async function finishAsUnknown(lanes: Lanes, { merchantId, id, kind }: UnsettledAttempt): Promise<void> {
  const unknown = { merchantId, attemptId: id, ...toAttemptColumns({ verdict: 'unknown' }) }
  await (kind === 'charge' ? callFinishCharge(lanes, unknown) : callFinishPayment(lanes, unknown))
}
