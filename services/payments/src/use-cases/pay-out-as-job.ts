import type { ProcessDeps } from '../deps.ts'
import type { PayoutSkip } from '../payouts/payout.ts'
import { countPayouts } from '../payouts/payout-job.ts'
import { type PayoutDeps, type PayoutTurn, payOutMerchants } from './pay-out-merchants.ts'

/** The merchants to pay out. */
export interface PayOutAsJobInput {
  /** The only merchant to pay out. Undefined: all. */
  readonly only?: string | undefined
}

/**
 * Pays out all merchants, or one, as a job of the queue does: counts what became of each, and logs each failure.
 * @throws Error after the last merchant when some could not be paid out, or at once when the database is away
 */
export async function payOutAsJob(
  deps: PayoutDeps & Pick<ProcessDeps, 'logger' | 'meter'>,
  { only }: PayOutAsJobInput = {},
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
