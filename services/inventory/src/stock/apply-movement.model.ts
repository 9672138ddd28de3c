import { QUANTITY_MAX } from './level-view.ts'

/** The quantities of a level, in units. `reserved` is a part of `onHand`. */
export interface Quantities {
  readonly onHand: number
  readonly reserved: number
}

/** The level after a movement, or why it was refused. `available`: on hand less reserved. */
export type AppliedMovement =
  | { readonly verdict: 'done'; readonly quantities: Quantities }
  | { readonly verdict: 'insufficient-stock'; readonly available: number }
  | { readonly verdict: 'above-limit' }

/**
 * The model of the SQL function `apply_movement`, which changes a level (reference: Stock invariants). One rule prevents
 * overselling: the available quantity never falls below zero.
 */
export function applyMovement({ onHand, reserved }: Quantities, deltas: Quantities): AppliedMovement {
  const after = { onHand: onHand + deltas.onHand, reserved: reserved + deltas.reserved }
  if (after.onHand > QUANTITY_MAX) return { verdict: 'above-limit' }
  if (after.onHand < after.reserved) return { verdict: 'insufficient-stock', available: onHand - reserved }
  return { verdict: 'done', quantities: after }
}
