import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { isEndedStatement } from '@trestle/database/unavailable.ts'
import type { Outbox } from '@trestle/jobs/outbox.ts'
import { toAttemptColumns } from '../acquirers/finish-attempt.ts'
import { callFinishPayment } from '../checkout/payment-repository.ts'
import type { Db } from '../database.ts'
import type { Placement } from '../placement/placement.ts'
import { listUnsettledAttempts, type UnsettledAttempt } from '../transactions/attempt-repository.ts'
import { callFinishCharge } from '../transactions/charge-repository.ts'

interface LostAttemptDeps {
  readonly db: Db
  readonly pools: Pools
  readonly placement: Placement
  readonly logger: ServiceLogger['logger']
  readonly outbox: Outbox
}

/** Longer than an acquirer has to answer (10 s), so its answer is being written, or the process that asked has ended. */
const AGE_SECONDS = 15
const BATCH_ROWS = 1_000

/**
 * Calls each attempt unknown that has been `sent` for 15 s, and that the look before found too (reference: Attempts). A repeat of
 * its request gets that outcome, and a job asks the acquirer. A second process finds only attempts that are still `sent`. An
 * attempt that cannot be written waits for the next look. All attempts wait after a rebalance: a process that has held
 * an outcome back since before the move writes it now.
 * @param seen the attempts that the look before has found
 * @returns the attempts that this look has found
 */
export async function endLostAttempts(
  { db, pools, outbox, placement, logger }: LostAttemptDeps,
  seen: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (placement.hasJustRebalanced()) return new Set()
  const sent = await listUnsettledAttempts(db, { state: 'sent', ageSeconds: AGE_SECONDS, limit: BATCH_ROWS })
  const lost = sent.filter(({ id }) => seen.has(id))
  for (const attempt of lost) {
    try {
      await finishAsUnknown(pools, attempt)
    } catch (error) {
      // A problem with one attempt, such as the lock of its merchant, must not make later attempts wait for ever.
      if (!isEndedStatement(error)) throw error
      logger.warn({ err: error, attempt_id: attempt.id }, 'an attempt could not be called unknown')
    }
  }
  if (lost.length > 0) outbox.wake()
  return new Set(sent.map(({ id }) => id))
}

async function finishAsUnknown(pools: Pools, { merchantId, id, kind }: UnsettledAttempt): Promise<void> {
  const unknown = { merchantId, attemptId: id, ...toAttemptColumns({ verdict: 'unknown' }) }
  await (kind === 'charge' ? callFinishCharge(pools, unknown) : callFinishPayment(pools, unknown))
}

/**
 * A process that waits for the database tries to write every half second (finish-attempt.ts), so it writes between two looks that
 * the database has answered. With the age and two looks, a repeat of the request is answered well within 30 s of a restart.
 */
const LOOK_MS = 3_000

/**
 * Looks every 3 s for attempts of processes that have ended, in each process and beside the queue: a job that
 * a killed process was doing would wait for its time limit first. The function that it returns ends this after
 * the current look.
 */
export function watchLostAttempts(deps: LostAttemptDeps): () => Promise<void> {
  let seen: ReadonlySet<string> = new Set()
  let running: Promise<void> | undefined
  const look = async (): Promise<void> => {
    try {
      seen = await endLostAttempts(deps, seen)
    } catch (error) {
      // The database may have been unavailable for other processes too: each of them gets the time of two looks again.
      seen = new Set()
      deps.logger.warn({ err: error }, 'attempts without an outcome could not be read')
    } finally {
      running = undefined
    }
  }
  const timer = setInterval(() => {
    running ??= look()
  }, LOOK_MS).unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
