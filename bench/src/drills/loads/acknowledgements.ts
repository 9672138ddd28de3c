/** The times at which writes of one service were acknowledged, in milliseconds of one clock, in order. */
export type Times = readonly number[]

/**
 * How long a fault stopped acknowledgements: the longest time between two acknowledgements of which the second came after the
 * fault, and before `until`. Undefined if none came.
 */
export function silenceAfter(times: Times, faultMs: number, untilMs: number): number | undefined {
  let longest: number | undefined
  let before = faultMs
  for (const time of times) {
    if (time > untilMs) break
    if (time > faultMs) longest = Math.max(longest ?? 0, time - before)
    before = time
  }
  return longest
}

/** Sorts references: those that are acknowledged but not stored are lost, those that are stored more than once are doubled. */
export function compareReferences(
  acknowledged: ReadonlySet<string>,
  found: ReadonlyMap<string, number>,
): { readonly lost: readonly string[]; readonly doubled: readonly string[] } {
  return {
    lost: [...acknowledged].filter((reference) => !found.has(reference)),
    doubled: [...found].filter(([, times]) => times > 1).map(([reference]) => reference),
  }
}
