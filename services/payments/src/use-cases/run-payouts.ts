import { OPERATOR } from '../access/caller.ts'
import type { OperatorDeps } from '../deps.ts'
import { listPayoutCandidates, type PayoutCandidate } from '../payouts/payout-operations.ts'
import { callPayOut } from '../payouts/payout-repository.ts'

/** What became of a merchant's turn: the payout of the day, or why there is none. */
export interface PayoutTurn {
  readonly merchantId: string
  readonly payout: string | undefined
  readonly amount: bigint | undefined
  readonly skipped: string | undefined
}

/** Pays out every merchant with money, or one; each is decided and booked by a call of its own. */
export async function* runPayouts(
  deps: Pick<OperatorDeps, 'database' | 'payouts'>,
  { only }: { readonly only?: string | undefined } = {},
): AsyncGenerator<PayoutTurn> {
  let after = ''
  for (;;) {
    const candidates = await listPayoutCandidates(deps.database.db, { after, only })
    for (const candidate of candidates) yield await payMerchant(deps, candidate)
    const last = candidates.at(-1)
    if (!last || only !== undefined) return
    after = last.merchantId
  }
}

async function payMerchant(
  { database, payouts }: Pick<OperatorDeps, 'database' | 'payouts'>,
  { merchantId, test }: PayoutCandidate,
): Promise<PayoutTurn> {
  const rules = { minimum: payouts.minimum, delayDays: test ? payouts.delayDays.test : payouts.delayDays.live }
  const { payout, skipped } = await callPayOut(database.lanes, { ...OPERATOR, merchantId, ...rules })
  return { merchantId, payout: payout?.id, amount: payout?.amount, skipped }
}
