import type { Amounts } from '../transactions/amounts.model.ts'
import type { Dispute } from './dispute.ts'

/** The effect of opening a dispute. `amount` is disputed, of at most `possible`, in minor units of the transaction's currency. */
export type OpenVerdict =
  | { readonly verdict: 'done'; readonly amount: bigint; readonly amounts: Amounts }
  | { readonly verdict: 'limit-exceeded'; readonly possible: bigint }

/**
 * Disputes captured money that is neither refunded nor disputed: all of it, or `requested` minor units. The
 * model of the SQL function `open_dispute` (reference: Movements).
 */
export function openDispute(amounts: Amounts, requested: bigint | undefined): OpenVerdict {
  const possible = amounts.captured - amounts.refunded - amounts.disputed
  const amount = requested ?? possible
  if (amount < 1n || amount > possible) return { verdict: 'limit-exceeded', possible }
  return { verdict: 'done', amount, amounts: { ...amounts, disputed: amounts.disputed + amount } }
}

/** The effect of closing a dispute. `repeated`: it was closed with this outcome before. */
export type CloseVerdict =
  | { readonly verdict: 'done' | 'repeated'; readonly amounts: Amounts }
  | { readonly verdict: 'conflict' }

/**
 * A won dispute frees its money, and a lost one takes it. The model of the SQL function `close_dispute` (reference:
 * Movements).
 */
export function closeDispute(
  amounts: Amounts,
  { amount, status }: Pick<Dispute, 'amount' | 'status'>,
  outcome: 'won' | 'lost',
): CloseVerdict {
  if (status !== 'open') return status === outcome ? { verdict: 'repeated', amounts } : { verdict: 'conflict' }
  const { disputed, lost } = amounts
  const after = outcome === 'won' ? { disputed: disputed - amount } : { lost: lost + amount }
  return { verdict: 'done', amounts: { ...amounts, ...after } }
}
