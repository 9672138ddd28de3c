import { z } from 'zod'

const Rows = z.array(z.object({ reference: z.string(), times: z.coerce.number() }))

/** How often each reference is stored, from rows with the columns `reference` and `times`. */
export function countReferences(rows: readonly unknown[]): ReadonlyMap<string, number> {
  return new Map(Rows.parse(rows).map(({ reference, times }) => [reference, times]))
}

/** Sorts references: lost ones are acknowledged but not stored, doubled ones are stored more than once. */
export function compareReferences(
  acknowledged: ReadonlySet<string>,
  found: ReadonlyMap<string, number>,
): { readonly lost: readonly string[]; readonly doubled: readonly string[] } {
  return {
    lost: [...acknowledged].filter((reference) => !found.has(reference)),
    doubled: [...found].filter(([, times]) => times > 1).map(([reference]) => reference),
  }
}

/** A line for each reference that is not stored as often as its answer says. */
export function listMiscounted(
  answered: ReadonlyMap<string, number>,
  found: ReadonlyMap<string, number>,
): readonly string[] {
  const wrong = [...answered].filter(([reference, times]) => (found.get(reference) ?? 0) !== times)
  const unknown = [...found.keys()].filter((reference) => !answered.has(reference))
  return [
    ...wrong.map(
      ([reference, times]) => `${reference} is stored ${found.get(reference) ?? 0} times instead of ${times}`,
    ),
    ...unknown.map((reference) => `${reference} is stored and was never answered`),
  ]
}

/**
 * How long a fault stopped acknowledgements: the longest gap between two acknowledgements of which the second came after the
 * fault and before `until`. Undefined without one.
 * @param times the times of the acknowledgements, in milliseconds of one clock, in order
 */
export function gapAfter(times: readonly number[], faultMs: number, untilMs: number): number | undefined {
  let longest: number | undefined
  let before = faultMs
  for (const time of times) {
    if (time > untilMs) break
    if (time > faultMs) longest = Math.max(longest ?? 0, time - before)
    before = time
  }
  return longest
}
