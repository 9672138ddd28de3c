/** The most that a level can have on hand. */
export const QUANTITY_MAX = 1_000_000_000_000

/** How much of a product is at a location, and how much of that is reserved. */
export interface Quantities {
  readonly onHand: number
  readonly reserved: number
}

export type Booking =
  | { readonly verdict: 'done'; readonly quantities: Quantities }
  | { readonly verdict: 'insufficient-stock'; readonly available: number }
  | { readonly verdict: 'above-limit' }

/**
 * Changes a level by a movement. One rule prevents overselling: the available quantity never falls below zero.
 * The SQL function `book` is the rule that runs (reference: Stock invariants).
 */
export function book({ onHand, reserved }: Quantities, deltas: Quantities): Booking {
  const after = { onHand: onHand + deltas.onHand, reserved: reserved + deltas.reserved }
  if (after.onHand > QUANTITY_MAX) return { verdict: 'above-limit' }
  if (after.onHand < after.reserved) return { verdict: 'insufficient-stock', available: onHand - reserved }
  return { verdict: 'done', quantities: after }
}
