/** A value for later requests: text, a number, or several values that belong together, by name. */
export type Kept = string | number | Readonly<Record<string, unknown>>

/** Values of earlier answers by the names in requests: ids, tokens, cursors. */
export interface Memory {
  /** Stores the values of an answer: members by their name, and `id` by the name of its object. */
  learn(actor: number, path: string, body: unknown): void
  keep(actor: number, pool: string, value: Kept): void
  /**
   * Chooses a value, mostly a recent one of the same actor. Equal choices return equal values. Returns `undefined` if no answer
   * had such a value.
   */
  pick(actor: number, pool: string, choice: number): Kept | undefined
  all(pool: string): readonly Kept[]
}

const KEPT_MAX = 12
const LENGTH_MAX = 4_096
/** One of this many choices takes a value of another actor. */
const STRANGER = 12

export function createMemory({
  actors,
  pools,
}: {
  readonly actors: number
  /** The names of the stored values. Requests never need others. */
  readonly pools: ReadonlySet<string>
}): Memory {
  const kept = Array.from({ length: actors }, () => new Map<string, readonly Kept[]>())
  const of = (actor: number, pool: string) => kept[actor % actors]?.get(pool) ?? []
  const keep = (actor: number, pool: string, value: Kept) => {
    const others = of(actor, pool).filter((known) => known !== value)
    kept[actor % actors]?.set(pool, [value, ...others].slice(0, KEPT_MAX))
  }
  return {
    keep,
    learn: (actor, path, body) => {
      for (const [pool, value] of namedValues(body, nounOf(path))) if (pools.has(pool)) keep(actor, pool, value)
    },
    pick: (actor, pool, choice) => {
      const whose = choice % STRANGER === 0 ? actor + 1 : actor
      const values = of(whose, pool).length > 0 ? of(whose, pool) : of(actor, pool)
      return values[newest(choice, values.length)] ?? kept.map((each) => each.get(pool)?.[0]).find(Boolean)
    },
    all: (pool) => kept.flatMap((each) => each.get(pool) ?? []),
  }
}

/** Each value is twice as likely as the next older one. */
function newest(choice: number, length: number): number {
  return Math.min(Math.clz32(Math.imul(choice, 0x9e3779b1) | 1), Math.max(0, length - 1))
}

/** Returns all texts and integers in an answer with their names. */
function namedValues(value: unknown, noun: string): readonly (readonly [pool: string, value: string | number])[] {
  // The texts of a list have the name of the list in the singular.
  if (typeof value === 'string') return isKept(value) ? [[noun, value]] : []
  if (Array.isArray(value)) return value.flatMap((each) => namedValues(each, noun))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => {
    const name = toCamelCase(key)
    if (isKept(member)) return [[name === 'id' ? `${noun}Id` : name, member] as const]
    // Names of envelopes do not describe their content.
    return namedValues(member, /^(data|items|error)$/.test(key) ? noun : singular(name))
  })
}

function isKept(value: unknown): value is string | number {
  return typeof value === 'string' ? value.length <= LENGTH_MAX : Number.isSafeInteger(value)
}

/** Returns the noun of the last named part of a path: `product` for `/products/7`. */
export function nounOf(path: string): string {
  const names = path.split('/').filter((part) => /^[a-z][a-z_-]*$/.test(part))
  return singular(toCamelCase(names.at(-1) ?? ''))
}

function singular(noun: string): string {
  return noun.replace(/ies$/, 'y').replace(/s$/, '')
}

function toCamelCase(name: string): string {
  return name.replaceAll(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
