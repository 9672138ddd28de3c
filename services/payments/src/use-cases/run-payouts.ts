import type { Meter } from '@opentelemetry/api'
import { isEndedStatement } from '@trestle/database/unavailable.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import { OPERATOR } from '../access/caller.ts'
import type { ProcessDeps } from '../deps.ts'
import type { PayoutSkip } from '../payouts/payout.ts'
import { countPayouts, PAYOUT_CRON, payoutTask } from '../payouts/payout-job.ts'
import { callPayOut, listPayoutCandidates, type PayoutCandidate } from '../payouts/payout-repository.ts'

/**
 * The outcome for a merchant: the id of the payout of the day and its amount in minor units, why there is none, or the message of
 * the database when it ended the call.
 */
export type PayoutTurn = { readonly merchantId: string } & (
  | { readonly payout: string; readonly amount: bigint }
  | { readonly skipped: PayoutSkip }
  | { readonly failure: string }
)

type PayoutDeps = Pick<ProcessDeps, 'db' | 'lanes' | 'payouts'>

/** Pays out all merchants with a positive balance, or one. Each has a call of its own. */
export async function* runPayouts(
  deps: PayoutDeps,
  { only }: { readonly only?: string | undefined } = {},
): AsyncGenerator<PayoutTurn> {
  let after = ''
  for (;;) {
    const candidates = await listPayoutCandidates(deps.db, { after, only })
    for (const candidate of candidates) yield await payMerchant(deps, candidate)
    const last = candidates.at(-1)
    if (!last || only !== undefined) return
    after = last.merchantId
  }
}

/** A lock timeout or statement timeout of one merchant does not stop the payouts of others. */
async function payMerchant({ lanes, payouts }: PayoutDeps, { merchantId, test }: PayoutCandidate): Promise<PayoutTurn> {
  const rules = {
    minimumMajorUnits: payouts.minimumMajorUnits,
    delayDays: test ? payouts.delayDays.test : payouts.delayDays.live,
  }
  try {
    const { outcome } = await callPayOut(lanes, { ...OPERATOR, merchantId, ...rules })
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
 * Drops the job when the settings are not `daily`: the queue keeps a schedule after the settings have changed. A second run of
 * the day pays only whom the first did not reach: for the others `callPayOut` answers the payout that exists.
 * @throws Error after the last merchant when some could not be paid, or at once when the database is away. The queue then runs
 * the job again for all merchants
 */
export async function payEveryone(deps: PayoutDeps & Pick<ProcessDeps, 'logger'>, meter: Meter): Promise<Outcome> {
  if (deps.payouts.schedule !== 'daily') return 'dropped'
  const count = countPayouts(meter)
  let failed = 0
  for await (const turn of runPayouts(deps)) {
    if ('failure' in turn) {
      const { merchantId, failure } = turn
      deps.logger.warn({ merchant_id: merchantId, failure }, 'a merchant could not be paid out')
      failed += 1
    }
    count(outcomeOf(turn))
  }
  if (failed > 0) throw new Error(`${failed} merchants could not be paid out`)
  return 'done'
}

function outcomeOf(turn: PayoutTurn): 'paid' | 'failed' | PayoutSkip {
  if ('failure' in turn) return 'failed'
  return 'skipped' in turn ? turn.skipped : 'paid'
}

/** Takes the daily payout job from the queue, and schedules it where the settings say `daily`. */
export async function startPayouts(deps: PayoutDeps & Pick<ProcessDeps, 'jobs' | 'logger' | 'meter'>): Promise<void> {
  await deps.jobs.work(payoutTask, () => payEveryone(deps, deps.meter))
  if (deps.payouts.schedule === 'daily') await deps.jobs.schedule(payoutTask, PAYOUT_CRON)
}
