import { type Pools, transactionPools } from '@trestle/database/pools.ts'
import { refuseMissing } from '../access/require-access.ts'
import type { Db } from '../database.ts'
import { payoutClosed } from '../operator-errors.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'
import { viewPayout } from '../payouts/payout.ts'
import { callClosePayout, findPayoutOfAll } from '../payouts/payout-repository.ts'

/**
 * Records the bank's outcome of a payout, for an operator (reference: States of a payout). Recording the same outcome again
 * changes nothing.
 */
export async function closePayout(
  { operatorDb, operatorPools }: { readonly operatorDb: Db; readonly operatorPools: Pools },
  {
    change,
    payoutId: id,
    outcome,
  }: {
    readonly change: OperatorChange
    readonly payoutId: string
    readonly outcome: 'settled' | 'failed'
  },
): Promise<OperatorAnswer> {
  const { merchantId } = (await findPayoutOfAll(operatorPools, id)) ?? refuseMissing()
  return runOperatorChange(operatorDb, change, async (trx) => {
    const closed = await callClosePayout(transactionPools(trx, merchantId), { id, outcome })
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
