import { z } from 'zod'

const Rows = z.array(z.object({ reference: z.string(), times: z.coerce.number() }))

/** The number of stored rows for each reference, from rows with the columns `reference` and `times`. */
export function countReferences(rows: readonly unknown[]): ReadonlyMap<string, number> {
  return new Map(Rows.parse(rows).map(({ reference, times }) => [reference, times]))
}

/** Finds lost references, which are acknowledged but not stored, and doubled ones, which are stored more than once. */
export function compareReferences(
  acknowledged: ReadonlySet<string>,
  found: ReadonlyMap<string, number>,
): { readonly lost: readonly string[]; readonly doubled: readonly string[] } {
  return {
    lost: [...acknowledged].filter((reference) => !found.has(reference)),
    doubled: [...found].filter(([, times]) => times > 1).map(([reference]) => reference),
  }
}

/** A line for each reference that is not stored the expected number of times. */
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
 * The longest time without an acknowledgement after a fault: the largest gap between two acknowledgements whose second one is
 * between the fault and `until`. `undefined` if there is none.
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
