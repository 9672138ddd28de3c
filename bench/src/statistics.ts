/** Median, smallest and largest of some numbers. */
export interface Distribution {
  readonly median: number
  readonly smallest: number
  readonly largest: number
}

/** @throws Error when there are no numbers. */
export function distributionOf(values: readonly number[]): Distribution {
  if (values.length === 0) throw new Error('no values')
  return { median: median(values), smallest: Math.min(...values), largest: Math.max(...values) }
}

/** The middle value, or the mean of the middle two. NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/**
 * Quotients of values of the same round. What slows the machine down for a moment hits both sides of a round, so these
 * spread less than the values do.
 */
export function pairedRatios(ours: readonly number[], reference: readonly number[]): readonly number[] {
  return ours.map((value, round) => value / (reference[round] ?? Number.NaN))
}

/** The smallest value that `share` (0 to 1) of all values do not exceed; 0 for no values. */
export function percentileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}
