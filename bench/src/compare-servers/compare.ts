import type { Json, JsonObject, Observation } from './step.ts'

interface Difference {
  /** `round / subject / step`. */
  readonly at: string
  /** The path of the member, such as `body.user.identities.0.id`. Empty for the whole value. */
  readonly path: string
  readonly theirs: Json | undefined
  readonly ours: Json | undefined
}

/** An intended difference, with its reason. In both patterns, `*` matches any text. */
export interface Accepted {
  readonly at: string
  readonly path: string
  /** The value at supabase/auth, `undefined` if it has none. If this member is missing, any value matches. */
  readonly theirs?: Json | undefined
  readonly ours?: Json | undefined
  readonly reason: string
}

interface Comparison {
  readonly steps: number
  readonly differences: readonly Difference[]
  /** How many differences each entry matched. */
  readonly uses: ReadonlyMap<Accepted, number>
  readonly unlisted: readonly Difference[]
}

export function compare(
  theirs: readonly Observation[],
  ours: readonly Observation[],
  list: readonly Accepted[],
): Comparison {
  const left = byPlace(theirs)
  const right = byPlace(ours)
  const places = new Set([...left.keys(), ...right.keys()])
  const answers = new Map([...theirs, ...ours].map(({ at, of = at }) => [at, of]))
  const differences = [...places].flatMap((at) => {
    const answer = answers.get(at) ?? at
    // Claims depend on their answer. If the statuses differ, report only that difference.
    if (answer !== at && differInStatus(left.get(answer), right.get(answer))) return []
    return differAt(at, left.get(at), right.get(at))
  })
  const tests = list.map((entry) => ({ entry, fits: matcherOf(entry) }))
  const uses = new Map(list.map((entry) => [entry, 0]))
  const unlisted = differences.filter((difference) => {
    const fitting = tests.filter(({ fits }) => fits(difference))
    for (const { entry } of fitting) uses.set(entry, (uses.get(entry) ?? 0) + 1)
    return fitting.length === 0
  })
  return { steps: places.size, differences, uses, unlisted }
}

/** @throws Error if two steps of a subject have the same name */
function byPlace(observations: readonly Observation[]): ReadonlyMap<string, Json> {
  const places = new Map<string, Json>()
  for (const { at, value } of observations) {
    if (places.has(at)) throw new Error(`two steps are named ${at}`)
    places.set(at, value)
  }
  return places
}

/** The differences between two answers. If the statuses differ, only they are compared. */
function differAt(at: string, theirs: Json | undefined, ours: Json | undefined): readonly Difference[] {
  if (!differInStatus(theirs, ours)) return differ(at, '', theirs, ours)
  return [{ at, path: 'status', theirs: statusOf(theirs) ?? theirs, ours: statusOf(ours) ?? ours }]
}

function differInStatus(theirs: Json | undefined, ours: Json | undefined): boolean {
  return statusOf(theirs) !== statusOf(ours)
}

/** The status and error code of an answer, such as `422 weak_password`, or why it was not requested. */
function statusOf(value: Json | undefined): string | undefined {
  if (!isObject(value)) return undefined
  const missing = memberOf(value, 'missing')
  if (typeof missing === 'string') return missing
  const status = memberOf(value, 'status')
  if (typeof status !== 'number') return undefined
  const body = memberOf(value, 'body')
  const code = isObject(body) ? (memberOf(body, 'error_code') ?? memberOf(body, 'code')) : undefined
  return status < 400 || typeof code !== 'string' ? String(status) : `${status} ${code}`
}

function differ(at: string, path: string, theirs: Json | undefined, ours: Json | undefined): readonly Difference[] {
  if (isObject(theirs) && isObject(ours) && Array.isArray(theirs) === Array.isArray(ours)) {
    const names = new Set([...Object.keys(theirs), ...Object.keys(ours)])
    return [...names].flatMap((name) => {
      const below = path === '' ? name : `${path}.${name}`
      return differ(at, below, memberOf(theirs, name), memberOf(ours, name))
    })
  }
  return theirs === ours ? [] : [{ at, path, theirs, ours }]
}

function isObject(value: Json | undefined): value is Exclude<Json, null | boolean | number | string> {
  return typeof value === 'object' && value !== null
}

function memberOf(value: JsonObject | readonly Json[], name: string): Json | undefined {
  return Object.entries(value).find(([each]) => each === name)?.[1]
}

function matcherOf(entry: Accepted): (difference: Difference) => boolean {
  const at = toPattern(entry.at)
  const path = toPattern(entry.path)
  const isSame = (name: 'theirs' | 'ours', value: Json | undefined) =>
    !(name in entry) || JSON.stringify(entry[name]) === JSON.stringify(value)
  return (difference) =>
    at.test(difference.at) &&
    path.test(difference.path) &&
    isSame('theirs', difference.theirs) &&
    isSame('ours', difference.ours)
}

/** Converts a pattern for a whole text. `*` matches anything, and `|` separates alternatives. */
function toPattern(glob: string): RegExp {
  const alternatives = glob.split('|').map((text) => text.replaceAll(/[.+?^${}()[\]\\]/g, '\\$&').replaceAll('*', '.*'))
  return new RegExp(`^(${alternatives.join('|')})$`, 's')
}

const TEXT_LENGTH = 300
/** The most steps that the report names for the same difference. */
const PLACES_MAX = 4

/** The report: the number of steps, the differences by subject, and the problems of the list. */
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

/** The entries that no difference matched. */
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

/** Reports the same difference of several steps as one entry. */
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
