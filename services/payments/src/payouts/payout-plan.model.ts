import { type CapturedAmount, capturedValue } from '../transactions/reversal.model.ts'
import type { PayoutSkip } from './payout.ts'

/** What a payout is decided on, in minor units of the merchant's currency. */
export interface PayoutPosition {
  readonly balance: bigint
  /** What open disputes may take back. */
  readonly reserve: bigint
  /** What came in so recently that it is not due, or what the acquirer has not accepted. */
  readonly notYetDue: bigint
  /** Less is not worth a transfer. */
  readonly minimum: bigint
  readonly hasIban: boolean
}

export type PayoutPlan =
  | { readonly verdict: 'pay'; readonly amount: bigint }
  | { readonly verdict: 'skip'; readonly reason: PayoutSkip }

/** All that is available is paid out, or nothing. The model of the SQL function `pay_out` (reference: Making payouts). */
export function planPayout({ balance, reserve, notYetDue, minimum, hasIban }: PayoutPosition): PayoutPlan {
  const available = balance - reserve - notYetDue
  if (available < 0n) return { verdict: 'skip', reason: 'negative' }
  if (available === 0n || available < minimum) return { verdict: 'skip', reason: 'below_minimum' }
  return hasIban ? { verdict: 'pay', amount: available } : { verdict: 'skip', reason: 'no_iban' }
}

/** A transaction with open disputes. Amounts are in its own currency. */
export interface DisputedTransaction {
  readonly captures: readonly CapturedAmount[]
  /** Refunded, or lost in a dispute. */
  readonly reversed: bigint
  /** In open disputes. */
  readonly open: bigint
}

/** What open disputes would take if all were lost: the model of `dispute_reserve` in SQL (reference: Available amount). */
export function disputeReserve(transactions: readonly DisputedTransaction[]): bigint {
  return transactions.reduce(
    (sum, { captures, reversed, open }) =>
      sum + capturedValue(captures, reversed + open) - capturedValue(captures, reversed),
    0n,
  )
}
