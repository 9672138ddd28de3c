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

/** The acquirer must answer within 10 s. After 15 s, its answer is being stored or the process that asked has ended. */
const AGE_SECONDS = 15
const BATCH_ROWS = 1_000

/**
 * Marks each attempt as unknown that has been `sent` for 15 s and that the previous scan also found (reference: Attempts).
 * Idempotent requests then get that outcome, and a job asks the acquirer. A second process finds only attempts that are still
 * `sent`. If an attempt cannot be written, the next scan tries again. After a rebalance all attempts wait for another scan,
 * because a process may have held back an outcome during the rebalance and writes it now.
 * @param seen the attempts that the previous scan found
 * @returns the attempts that this scan found
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
      // A problem with one attempt, such as a lock on its merchant, must not block later attempts forever.
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
 * A process that waits for the database retries every half second (`finish-attempt.ts`), so it writes between two successful
 * scans. With the age and two scans, idempotent requests are answered within 30 s of a restart.
 */
const LOOK_MS = 3_000

/**
 * Scans every 3 s for attempts of processes that have ended. Each process does this outside the queue, because a job of a killed
 * process would first wait for its time limit. The returned function stops this after the current scan.
 */
export function watchLostAttempts(deps: LostAttemptDeps): () => Promise<void> {
  let seen: ReadonlySet<string> = new Set()
  let running: Promise<void> | undefined
  const look = async (): Promise<void> => {
    try {
      seen = await endLostAttempts(deps, seen)
    } catch (error) {
      // The database may have been unavailable for other processes too. Give each of them the time of two more scans.
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
