/** The median, the minimum and the maximum of some numbers. */
export interface Distribution {
  readonly median: number
  readonly smallest: number
  readonly largest: number
}

/** @throws Error if there are no numbers */
export function distributionOf(values: readonly number[]): Distribution {
  if (values.length === 0) throw new Error('no values')
  return { median: median(values), smallest: Math.min(...values), largest: Math.max(...values) }
}

/** The middle value, or the mean of the two middle values. `NaN` if there are no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/**
 * A median, and an interval that contains the true median in 95 of 100 measurements. With too few values it is the whole range.
 */
export interface MedianInterval {
  readonly median: number
  readonly lower: number
  readonly upper: number
}

/**
 * Returns the interval of a median by order statistics, which assumes no distribution of the values. For nine values it extends
 * from the second to the eighth.
 */
export function medianInterval(values: readonly number[]): MedianInterval {
  const sorted = values.toSorted((a, b) => a - b)
  let outside = 0
  // Count the values to omit on each side: each tail of the binomial distribution stays below 2.5 %.
  for (let tail = chooseOf(sorted.length, 0) / 2 ** sorted.length; tail <= 0.025 && outside < sorted.length / 2; ) {
    outside += 1
    tail += chooseOf(sorted.length, outside) / 2 ** sorted.length
  }
  const first = Math.max(0, outside - 1)
  return {
    median: median(values),
    lower: sorted[first] ?? Number.NaN,
    upper: sorted[sorted.length - 1 - first] ?? Number.NaN,
  }
}

function chooseOf(all: number, chosen: number): number {
  let ways = 1
  for (let index = 0; index < chosen; index++) ways = (ways * (all - index)) / (index + 1)
  return ways
}

/**
 * Returns the quotients of values of the same round. A short disturbance of the machine affects both values of a round, so
 * quotients vary less than values.
 */
export function pairedRatios(ours: readonly number[], reference: readonly number[]): readonly number[] {
  return ours.map((value, round) => value / (reference[round] ?? Number.NaN))
}

/** The smallest value that at least `share` (0 to 1) of all values do not exceed. 0 if there are no values. */
export function percentileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}
