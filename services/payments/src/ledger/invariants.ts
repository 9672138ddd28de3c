/** The numbers of the invariants (reference: Invariants). */
export const INVARIANTS = {
  amounts: 1,
  bounds: 2,
  trailAmounts: 3,
  disputes: 4,
  trailLength: 5,
  trailBalance: 6,
  trailLine: 7,
  reversals: 8,
  balance: 9,
  balanceAfter: 10,
  fees: 11,
  available: 12,
  lineOfJournal: 13,
  entriesSumToZero: 14,
  payoutClearing: 15,
  chain: 16,
  recordedRows: 17,
  terms: 18,
  snapshots: 19,
  currency: 20,
} as const

/** A broken invariant: its number and a description. */
export type Finding = readonly [invariant: Invariant, message: string]

export type Invariant = (typeof INVARIANTS)[keyof typeof INVARIANTS]

/** A rule: the name of its invariant, whether it holds, and the message if it does not. */
export type Rule = readonly [name: keyof typeof INVARIANTS, holds: boolean, message: string]

/** Returns a finding for each rule that does not hold. */
export function findingsOf(rules: readonly Rule[]): readonly Finding[] {
  return rules.flatMap(([name, holds, message]) => (holds ? [] : [[INVARIANTS[name], message] as const]))
}
