import type { Accepted, Comparison, Difference } from './compare.ts'
import type { Json, Observation } from './step.ts'

const TEXT_LENGTH = 300
/** How many steps are named that differ in the same way. */
const PLACES_MAX = 4

/** The lines of a report: the number of steps, the differences by subject, and what is wrong with the list. */
export function reportLines(
  { steps, differences, uses, unlisted }: Comparison,
  observations: readonly Observation[],
  { isWhole }: { readonly isWhole: boolean },
): readonly string[] {
  const unused = isWhole ? unusedEntries(uses) : []
  const kinds = ['answer', 'claims', 'mail', 'hook'] as const
  const counts = kinds.map((kind) => `${observations.filter((seen) => seen.kind === kind).length} of ${kind}`)
  return [
    `${steps} steps (${counts.join(', ')})`,
    `${differences.length - unlisted.length} differences on the list, ${unlisted.length} that are not on it`,
    ...subjectLines(differences, unlisted),
    ...groupLines(unlisted),
    ...unused.map(({ at, path, reason }) => `on the list, but nothing differs any more: ${at}: ${path} (${reason})`),
  ]
}

/** The entries that no difference was about. */
export function unusedEntries(uses: Comparison['uses']): readonly Accepted[] {
  return [...uses].filter(([, count]) => count === 0).map(([entry]) => entry)
}

function subjectLines(differences: readonly Difference[], unlisted: readonly Difference[]): readonly string[] {
  const subjects = Map.groupBy(differences, ({ at }) => at.split(' / ').slice(0, 2).join(' / '))
  return [...subjects].map(([subject, all]) => {
    const bad = all.filter((difference) => unlisted.includes(difference)).length
    return `  ${subject}: ${all.length} differences, ${bad} not on the list`
  })
}

/** A difference that many steps have is one entry. */
function groupLines(unlisted: readonly Difference[]): readonly string[] {
  const groups = Map.groupBy(unlisted, ({ path, theirs, ours }) => `${path}: ${shorten(theirs)} | ${shorten(ours)}`)
  return [...groups].flatMap(([, group]) => {
    const [first] = group
    if (!first) return []
    const places = group.slice(0, PLACES_MAX).map(({ at }) => `    at ${at}`)
    const more = group.length - places.length
    return [
      `${first.path || 'all'}`,
      `    theirs ${shorten(first.theirs)}`,
      `    ours   ${shorten(first.ours)}`,
      ...places,
      ...(more > 0 ? [`    and at ${more} more steps`] : []),
    ]
  })
}

function shorten(value: Json | undefined): string {
  const text = value === undefined ? '(nothing)' : JSON.stringify(value)
  return text.length > TEXT_LENGTH ? `${text.slice(0, TEXT_LENGTH)}…` : text
}
