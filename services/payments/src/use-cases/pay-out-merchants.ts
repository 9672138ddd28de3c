import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { isEndedStatement } from '@trestle/database/unavailable.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { TRUSTED_COLUMNS } from '../access/caller.ts'
import type { Judged } from '../access/verdict.ts'
import type { PaymentsConfig } from '../config.ts'
import type { Db } from '../database.ts'
import type { PayoutSkip } from '../payouts/payout.ts'
import { countPayouts, PAYOUT_CRON, payoutTask } from '../payouts/payout-job.ts'
import {
  callPayOut,
  listPayoutCandidates,
  type PaidOut,
  type PayOutCall,
  type PayoutCandidate,
} from '../payouts/payout-repository.ts'

/**
 * The outcome for one merchant. It is the payout of the day with its amount in minor units, or the reason why there is none, or
 * the message of the database error that ended the call.
 */
export type PayoutTurn = { readonly merchantId: string } & (
  | { readonly payout: string; readonly amount: bigint }
  | { readonly skipped: PayoutSkip }
  | { readonly failure: string }
)

export type PayoutDeps = { readonly db: Db; readonly pools: Pools; readonly config: Pick<PaymentsConfig, 'payouts'> }

interface PayOutMerchantsInput {
  /** The only merchant to pay out. `undefined` for all merchants. */
  readonly only?: string | undefined
  /** Pays out one merchant. An operator's command passes a function that also writes the audit log. The default only pays. */
  readonly pay?: (call: PayOutCall) => Promise<Judged<PaidOut>>
}

/**
 * Pays out all merchants with a positive balance, one after the other in the order of their ids. Yields the outcome of each. Each
 * merchant has its own database call, which decides under the lock of the balance (reference: Making payouts).
 * @throws Error if the database is unavailable. The payouts made before remain
 */
export async function* payOutMerchants(
  deps: PayoutDeps,
  { only, pay = (call) => callPayOut(deps.pools, call) }: PayOutMerchantsInput = {},
): AsyncGenerator<PayoutTurn> {
  let after = ''
  for (;;) {
    const candidates = await listPayoutCandidates(deps.db, { after, only })
    for (const candidate of candidates) yield await payOutMerchant(deps.config, candidate, pay)
    const last = candidates.at(-1)
    if (!last || only !== undefined) return
    after = last.merchantId
  }
}

/** Turns a lock or statement timeout into an outcome, so that it does not stop the payouts of other merchants. */
async function payOutMerchant(
  { payouts }: PayoutDeps['config'],
  { merchantId, test }: PayoutCandidate,
  pay: NonNullable<PayOutMerchantsInput['pay']>,
): Promise<PayoutTurn> {
  const rules = {
    minimumMajorUnits: payouts.minimumMajorUnits,
    delayDays: test ? payouts.delayDays.test : payouts.delayDays.live,
  }
  try {
    const { outcome } = await pay({ ...TRUSTED_COLUMNS, merchantId, ...rules })
    switch (outcome?.verdict) {
      case 'paid':
        return { merchantId, payout: outcome.payout.id, amount: outcome.payout.amount }
      case 'skipped':
        return { merchantId, skipped: outcome.reason }
      case undefined:
        return { merchantId, failure: 'the merchant is gone' }
    }
  } catch (error) {
    if (!isEndedStatement(error)) throw error
    return { merchantId, failure: error.message }
  }
}

/**
 * Pays out all merchants, or one, as a job of the queue. Counts the outcomes and logs each failure.
 * @throws Error after the last merchant if some could not be paid out, or immediately if the database is unavailable
 */
export async function payOutAsJob(
  deps: PayoutDeps & { readonly logger: ServiceLogger['logger']; readonly meter: Metrics['meter'] },
  {
    only,
  }: {
    /** The only merchant to pay out. `undefined` for all merchants. */
    readonly only?: string | undefined
  } = {},
): Promise<void> {
  const count = countPayouts(deps.meter)
  let failed = 0
  for await (const turn of payOutMerchants(deps, { only })) {
    if ('failure' in turn) {
      const { merchantId, failure } = turn
      deps.logger.warn({ merchant_id: merchantId, failure }, 'a merchant could not be paid out')
      failed += 1
    }
    count(outcomeOf(turn))
  }
  if (failed > 0) throw new Error(`${failed} merchants could not be paid out`)
}

function outcomeOf(turn: PayoutTurn): 'paid' | 'failed' | PayoutSkip {
  if ('failure' in turn) return 'failed'
  return 'skipped' in turn ? turn.skipped : 'paid'
}

/**
 * Pays out all merchants as the daily job (reference: Making payouts). Drops the job if the setting is not `daily`, because the
 * queue keeps a schedule after the setting has changed. A second run on the same day pays out only the merchants that the first
 * run did not reach. All others already have the payout of the day.
 * @throws Error after the last merchant if some could not be paid out, or immediately if the database is unavailable. The queue
 * then runs the job again for all merchants
 */
export async function payOutDaily(
  deps: PayoutDeps & { readonly logger: ServiceLogger['logger']; readonly meter: Metrics['meter'] },
): Promise<Outcome> {
  if (deps.config.payouts.schedule !== 'daily') return 'dropped'
  await payOutAsJob(deps)
  return 'done'
}

/** Starts the worker of the daily payout job. Schedules the job if the setting is `daily`. */
export async function startDailyPayouts(
  deps: PayoutDeps & {
    readonly jobs: Jobs
    readonly logger: ServiceLogger['logger']
    readonly meter: Metrics['meter']
  },
): Promise<void> {
  await deps.jobs.work(payoutTask, () => payOutDaily(deps))
  if (deps.config.payouts.schedule === 'daily') await deps.jobs.schedule(payoutTask, PAYOUT_CRON)
}
