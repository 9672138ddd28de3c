import type { Amounts } from '../transactions/amounts.model.ts'
import type { Dispute } from './dispute.ts'

/**
 * The effect of opening a dispute, in minor units of the transaction's currency: `excess` is the part of `amount` beyond the sum that is
 * captured and neither refunded nor disputed.
 */
export type OpenVerdict =
  | { readonly verdict: 'done'; readonly amount: bigint; readonly excess: bigint; readonly amounts: Amounts }
  | { readonly verdict: 'limit-exceeded'; readonly possible: bigint }

/**
 * Opens a dispute that an acquirer or an operator reports. It takes all captured money that is neither refunded nor disputed,
 * or `requested` minor units. Of `requested`, at most that money counts as disputed. The model of the SQL function
 * `open_dispute` (reference: Movements).
 */
export function openDispute(amounts: Amounts, requested: bigint | undefined): OpenVerdict {
  const possible = amounts.captured - amounts.refunded - amounts.disputed
  const amount = requested ?? possible
  if (amount < 1n) return { verdict: 'limit-exceeded', possible }
  const excess = amount > possible ? amount - possible : 0n
  const after = { ...amounts, disputed: amounts.disputed + amount - excess }
  return { verdict: 'done', amount, excess, amounts: after }
}

/** The effect of closing a dispute. `repeated`: it was closed with this outcome before. */
export type CloseVerdict =
  | { readonly verdict: 'done' | 'repeated'; readonly amounts: Amounts }
  | { readonly verdict: 'conflict' }

/**
 * A won dispute in the currency of its transaction frees its money, and a lost one takes it. The model of the SQL function
 * `close_dispute` (reference: Movements).
 */
export function closeDispute(
  amounts: Amounts,
  { amount, excess, status }: Pick<Dispute, 'amount' | 'excess' | 'status'>,
  outcome: 'won' | 'lost',
): CloseVerdict {
  if (status !== 'open') return status === outcome ? { verdict: 'repeated', amounts } : { verdict: 'conflict' }
  const { disputed, lost } = amounts
  const covered = amount - excess
  const after = outcome === 'won' ? { disputed: disputed - covered } : { lost: lost + covered }
  return { verdict: 'done', amounts: { ...amounts, ...after } }
}
