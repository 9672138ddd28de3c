import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { OperationKind, Transaction } from './transaction.ts'

/** The last entry of a trail that an operation may become, as `decide_operation` judges it (reference: Length of the trail). */
const LAST_ENTRIES: Readonly<Record<OperationKind, number>> = { capture: 200, refund: 300, void: 300 }

/**
 * The last entry of a trail that a refund of support may become. Small refunds could otherwise fill the trail, and nobody
 * could capture, void or refund the rest of the transaction. Each refund may lead to two corrections, when the acquirer
 * rejects it and its capture: three times as many entries still leave captures.
 */
const LAST_ENTRY_OF_SUPPORT = 60

/** The last entry of a trail that a refund of an operator with this role may become. */
export function lastRefundOf(role: OperatorRole): number {
  return role === 'support' ? LAST_ENTRY_OF_SUPPORT : LAST_ENTRIES.refund
}

type AmountsAndTrail = Pick<Transaction, 'pending' | 'captured' | 'refunded' | 'disputed'> & {
  readonly trail: Pick<Transaction['trail'], 'length'>
}

/** The minor units of a transaction that its amounts and the length of its trail leave to an operator. */
export interface AmountsLeft {
  readonly capture: number
  readonly refund: number
  readonly void: number
  /** A dispute that is opened adds no entry. */
  readonly dispute: number
}

/** Returns the amounts of a transaction that an operator with this role may still capture, refund, void and dispute. */
export function amountsLeft(
  { pending, captured, refunded, disputed, trail }: AmountsAndTrail,
  role: OperatorRole,
): AmountsLeft {
  const upTo = (last: number, left: bigint) => (trail.length < last ? Number(left) : 0)
  const refundable = captured - refunded - disputed
  return {
    capture: upTo(LAST_ENTRIES.capture, pending),
    refund: upTo(lastRefundOf(role), refundable),
    void: upTo(LAST_ENTRIES.void, pending),
    dispute: Number(refundable),
  }
}
