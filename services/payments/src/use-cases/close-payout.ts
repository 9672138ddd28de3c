import { transactionLanes } from '@trestle/database/lanes.ts'
import { refuseMissing } from '../access/require-access.ts'
import type { PaymentsDeps } from '../deps.ts'
import { payoutClosed } from '../operator-errors.ts'
import type { OperatorAnswer, OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { callClosePayout, findPayoutOfAll } from '../payouts/payout-repository.ts'
import { viewPayout } from '../payouts/payout-view.ts'

/** The answer of the bank to a payout, as an operator enters it. */
export interface ClosePayoutInput {
  readonly change: OperatorChange
  readonly payoutId: string
  readonly outcome: 'settled' | 'failed'
}

/**
 * Records what the bank made of a payout, for an operator (reference: States of a payout). The same outcome
 * again changes nothing.
 * @throws notFound, payoutClosed when the payout has the other outcome, idempotencyKeyReused
 */
export async function closePayout(
  { operatorDb, operatorLanes }: Pick<PaymentsDeps, 'operatorDb' | 'operatorLanes'>,
  { change, payoutId: id, outcome }: ClosePayoutInput,
): Promise<OperatorAnswer> {
  const { merchantId } = (await findPayoutOfAll(operatorLanes, id)) ?? refuseMissing()
  return runOperatorChange(operatorDb, change, async (trx) => {
    const closed = await callClosePayout(transactionLanes(trx, merchantId), { id, outcome })
    if (closed.verdict === 'not-found') refuseMissing()
    if (closed.verdict === 'conflict') throw payoutClosed()
    return {
      answer: { payout: viewPayout(closed.payout) },
      object: { kind: 'payout', id },
      merchantId,
      changes: { outcome },
    }
  })
}
