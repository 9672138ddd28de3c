import { type CapturedAmount, capturedValue } from '../transactions/amounts.model.ts'
import type { PayoutSkip } from './payout.ts'

/** The figures that decide a payout, in minor units of the merchant's currency. */
export interface PayoutPosition {
  readonly balance: bigint
  /** The sum that open disputes would take if they were lost, which is not paid out. */
  readonly reserve: bigint
  /** The worth of captures that are too recent, or that the acquirer has not accepted, less fees. None counts below 0. */
  readonly notYetDue: bigint
  /** Smaller amounts are not paid out. */
  readonly minimum: bigint
  readonly hasIban: boolean
  /** Whether events of an acquirer about the merchant wait. */
  readonly eventsWait?: boolean
}

/** Whether a merchant is paid out, and how much: minor units of the merchant's currency. */
export type PayoutPlan =
  | { readonly verdict: 'pay'; readonly amount: bigint }
  | { readonly verdict: 'skip'; readonly reason: PayoutSkip }

/**
 * Pays out all that is available, but never more than the balance, or nothing. The model of the SQL function `pay_out`
 * (reference: Making payouts).
 */
export function planPayout({ balance, reserve, notYetDue, minimum, hasIban, eventsWait }: PayoutPosition): PayoutPlan {
  if (eventsWait) return { verdict: 'skip', reason: 'events_waiting' }
  const left = balance - reserve - notYetDue
  const available = left < balance ? left : balance
  if (available < 0n) return { verdict: 'skip', reason: 'negative' }
  if (available === 0n || available < minimum) return { verdict: 'skip', reason: 'below_minimum' }
  return hasIban ? { verdict: 'pay', amount: available } : { verdict: 'skip', reason: 'no_iban' }
}

/** A transaction with open disputes, in its own currency. */
export interface DisputedTransaction {
  readonly captures: readonly CapturedAmount[]
  /** Refunded, or lost in a dispute. */
  readonly reversed: bigint
  /** In open disputes. */
  readonly open: bigint
}

/**
 * The sum that the merchant would lose with all open disputes, in minor units of its currency. The model of the SQL function
 * `dispute_reserve` (reference: Available amount).
 */
export function disputeReserve(transactions: readonly DisputedTransaction[]): bigint {
  return transactions.reduce(
    (sum, { captures, reversed, open }) =>
      sum + capturedValue(captures, reversed + open) - capturedValue(captures, reversed),
    0n,
  )
}
