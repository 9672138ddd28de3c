import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { OperationKind, Transaction } from './transaction.ts'

/** The highest trail position of an operation, as `decide_operation` applies it (reference: Length of the trail). */
const LAST_ENTRIES: Readonly<Record<OperationKind, number>> = { capture: 200, refund: 300, void: 300 }

/**
 * The highest position in the trail that a refund by the role `support` may take. Otherwise small refunds could fill the trail,
 * and nobody could capture, void or refund the rest of the transaction. Each refund may lead to two corrections, if the acquirer
 * rejects the refund and its capture. Three times this number is 180, below the limit of 200 for captures.
 */
const LAST_ENTRY_OF_SUPPORT = 60

/** Returns the highest position in the trail that a refund by an operator with this role may take. */
export function lastRefundOf(role: OperatorRole): number {
  return role === 'support' ? LAST_ENTRY_OF_SUPPORT : LAST_ENTRIES.refund
}

type AmountsAndTrail = Pick<Transaction, 'pending' | 'captured' | 'refunded' | 'disputed'> & {
  readonly trail: Pick<Transaction['trail'], 'length'>
}

/** The minor units of a transaction that an operator may still use, given its amounts and the length of its trail. */
export interface AmountsLeft {
  readonly capture: number
  readonly refund: number
  readonly void: number
  /** Opening a dispute adds no entry to the trail. */
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
