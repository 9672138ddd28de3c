import type { Amounts } from '../transactions/amounts.model.ts'
import type { Dispute } from './dispute.ts'

/**
 * The effect of opening a dispute, in minor units of the transaction's currency. `excess` is the part of `amount` above the
 * captured money that is neither refunded nor disputed.
 */
export type OpenVerdict =
  | { readonly verdict: 'done'; readonly amount: bigint; readonly excess: bigint; readonly amounts: Amounts }
  | { readonly verdict: 'limit-exceeded'; readonly possible: bigint }

/**
 * Opens a dispute that an acquirer or an operator reports. The dispute takes `requested` minor units, or all captured money that
 * is neither refunded nor disputed. If `requested` is more than this money, the rest is the excess and does not count as
 * disputed. This is the model of the SQL function `open_dispute` (reference: Movements).
 */
export function openDispute(amounts: Amounts, requested: bigint | undefined): OpenVerdict {
  const possible = amounts.captured - amounts.refunded - amounts.disputed
  const amount = requested ?? possible
  if (amount < 1n) return { verdict: 'limit-exceeded', possible }
  const excess = amount > possible ? amount - possible : 0n
  const after = { ...amounts, disputed: amounts.disputed + amount - excess }
  return { verdict: 'done', amount, excess, amounts: after }
}

/** The effect of closing a dispute. `repeated` if it was already closed with the same outcome. */
export type CloseVerdict =
  | { readonly verdict: 'done' | 'repeated'; readonly amounts: Amounts }
  | { readonly verdict: 'conflict' }

/**
 * Closes a dispute in the currency of its transaction. A won dispute releases its money, and a lost dispute takes it. This is the
 * model of the SQL function `close_dispute` (reference: Movements).
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
