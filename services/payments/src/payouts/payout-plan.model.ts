import { type CapturedAmount, capturedValue } from '../transactions/amounts.model.ts'
import type { PayoutSkip } from './payout.ts'

/** The figures that decide a payout, in minor units of the merchant's currency. */
export interface PayoutPosition {
  readonly balance: bigint
  /** The sum that the merchant would lose if all open disputes were lost. It is not paid out. */
  readonly reserve: bigint
  /** The worth, less fees, of captures that are too recent or not accepted by the acquirer. No capture counts below 0. */
  readonly notYetDue: bigint
  /** Smaller amounts are not paid out. */
  readonly minimum: bigint
  readonly hasIban: boolean
  /** Whether events of an acquirer about the merchant are waiting. */
  readonly eventsWait?: boolean
}

/** Whether a merchant is paid out, and the amount in minor units of the merchant's currency. */
export type PayoutPlan =
  | { readonly verdict: 'pay'; readonly amount: bigint }
  | { readonly verdict: 'skip'; readonly reason: PayoutSkip }

/**
 * Pays out the whole available amount or nothing, and never more than the balance. This is the model of the SQL function
 * `pay_out` (reference: Making payouts).
 */
export function planPayout({ balance, reserve, notYetDue, minimum, hasIban, eventsWait }: PayoutPosition): PayoutPlan {
  if (eventsWait) return { verdict: 'skip', reason: 'events_waiting' }
  const left = balance - reserve - notYetDue
  const available = left < balance ? left : balance
  if (available < 0n) return { verdict: 'skip', reason: 'negative' }
  if (available === 0n || available < minimum) return { verdict: 'skip', reason: 'below_minimum' }
  return hasIban ? { verdict: 'pay', amount: available } : { verdict: 'skip', reason: 'no_iban' }
}

/** A transaction with open disputes. Amounts are in its own currency. */
export interface DisputedTransaction {
  readonly captures: readonly CapturedAmount[]
  /** The amount that was refunded or lost in disputes. */
  readonly reversed: bigint
  /** The amount in open disputes. */
  readonly open: bigint
}

/**
 * Returns the sum that the merchant would lose if all open disputes were lost, in minor units of its currency. This is the model
 * of the SQL function `dispute_reserve` (reference: Available amount).
 */
export function disputeReserve(transactions: readonly DisputedTransaction[]): bigint {
  return transactions.reduce(
    (sum, { captures, reversed, open }) =>
      sum + capturedValue(captures, reversed + open) - capturedValue(captures, reversed),
    0n,
  )
}
