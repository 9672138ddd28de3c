import type { OperationKind } from './transaction.ts'

/** The state of a transaction, in minor units of its currency. `lost` is the part of `disputed` that lost disputes have taken. */
export interface Amounts {
  readonly amount: bigint
  readonly pending: bigint
  readonly captured: bigint
  readonly refunded: bigint
  readonly voided: bigint
  readonly disputed: bigint
  readonly lost: bigint
}

/** The amounts after an operation, or the largest amount that is possible. All are minor units. */
export type AmountsVerdict =
  | { readonly verdict: 'done'; readonly amounts: Amounts }
  | { readonly verdict: 'limit-exceeded'; readonly possible: bigint }

/** A transaction of which nothing is captured yet. @param amount in minor units */
export function authorized(amount: bigint): Amounts {
  return { amount, pending: amount, captured: 0n, refunded: 0n, voided: 0n, disputed: 0n, lost: 0n }
}

/** The largest amount that an operation can have. Money in an open or lost dispute cannot be refunded. */
function possibleAmount(amounts: Amounts, kind: OperationKind): bigint {
  return kind === 'refund' ? amounts.captured - amounts.refunded - amounts.disputed : amounts.pending
}

/**
 * Captures, refunds or voids `amount`, a positive number of minor units. Captured money never becomes pending again.
 * The model of the rule in the SQL function `decide_operation` (reference: Movements).
 */
export function runOperation(amounts: Amounts, kind: OperationKind, amount: bigint): AmountsVerdict {
  const possible = possibleAmount(amounts, kind)
  if (amount > possible) return { verdict: 'limit-exceeded', possible }
  return { verdict: 'done', amounts: { ...amounts, ...CHANGES[kind](amounts, amount) } }
}

const CHANGES: Readonly<Record<OperationKind, (before: Amounts, amount: bigint) => Partial<Amounts>>> = {
  capture: ({ pending, captured }, amount) => ({ pending: pending - amount, captured: captured + amount }),
  refund: ({ refunded }, amount) => ({ refunded: refunded + amount }),
  void: ({ pending, voided }, amount) => ({ pending: pending - amount, voided: voided + amount }),
}
