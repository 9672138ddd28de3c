import { closestMatch } from 'leven'
import { PROBLEM_TEXTS, VALUE_TEXTS } from '../error-texts.ts'
import { CallError, type Issue } from '../errors.ts'
import { decodePercent } from '../routing/target.ts'

/** Keyword arguments by name. The object has no prototype, so a name such as `constructor` is an ordinary key. */
export type Keywords = Record<string, unknown>

/** The maximum number of keywords of one request. It limits the time for refusing a request with many keywords. */
export const KEYWORDS_MAX = 1_000

/** The keywords of a call that has none. */
export const noKeywords: Readonly<Keywords> = Object.freeze(emptyKeywords())

/** Creates an object without a prototype, so that `__proto__` and `toString` are ordinary keys. */
export function emptyKeywords(): Keywords {
  return Object.create(null)
}

/**
 * Parses `a=1&b=2` of a query or form. A repeated key becomes a list, and `+` is a space.
 * @param isAbsent whether `a=` counts as absent. A bare `a` is kept.
 * @throws CallError 400 for an invalid percent sequence, too many keys, or `__proto__`
 */
export function parseUrlEncoded(text: string, isAbsent: (name: string) => boolean): Keywords {
  const keywords = emptyKeywords()
  if (text === '') return keywords
  const pairs = text.split('&', KEYWORDS_MAX + 1)
  if (pairs.length > KEYWORDS_MAX) throw tooManyKeywords()
  for (const pair of pairs) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodePart(equals === -1 ? pair : pair.slice(0, equals))
    if (equals !== -1 && equals === pair.length - 1 && isAbsent(name)) continue
    addKeyword(keywords, name, equals === -1 ? '' : decodePart(pair.slice(equals + 1)))
  }
  return keywords
}

/**
 * Adds a value. A second value with the same name creates a list.
 * @throws CallError 400 for the name `__proto__`, which would change the prototype
 */
export function addKeyword(keywords: Keywords, name: string, value: unknown): void {
  if (name === '__proto__') throw new CallError(400, PROBLEM_TEXTS.forbiddenKeyword)
  const known = keywords[name]
  if (known === undefined) keywords[name] = value
  else if (Array.isArray(known)) known.push(value)
  else keywords[name] = [known, value]
}

/** Returns the error 400 for a request with more than KEYWORDS_MAX keywords. */
export function tooManyKeywords(): CallError {
  return new CallError(400, PROBLEM_TEXTS.tooManyKeywords({ max: KEYWORDS_MAX }))
}

function decodePart(text: string): string {
  return decodePercent(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** Where the body of a request goes: into the keywords, after the positionals, or only to `this.request`. */
export type BodyUse = 'keywords' | 'positionals' | 'raw'

/** The object pattern of a parameter list. It receives the keywords. */
export interface KeywordPattern {
  readonly index: number
  readonly required: readonly string[]
  /** All keys that the pattern names. */
  readonly known: ReadonlySet<string>
  /** Whether the pattern accepts other keys: `{ a, ...rest }`. */
  readonly open: boolean
}

export interface Binding {
  /** The minimum and maximum number of positionals in a path. */
  readonly min: number
  readonly max: number
  /** The number of positionals that have a name. A rest parameter counts as one. */
  readonly places: number
  /** The keywords of a handler without a declaration. */
  readonly keywords: KeywordPattern | undefined
  readonly body: BodyUse
  /** Returns whether the handler accepts a keyword with this name. */
  readonly knows: (name: string) => boolean
  /**
   * Creates the arguments of a call.
   * @throws ValidationError for invalid keywords or values, and for too few or too many positionals in the body
   */
  readonly bind: (positionals: readonly unknown[], keywords: Keywords) => Arguments | Promise<Arguments>
}

export type Arguments = readonly unknown[]

const NAME_LENGTH_MAX = 64

/** Returns the path of an issue about a keyword. It is truncated, because a client may send a very long name. */
export function issuePath(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX)
}

/** A comparison takes quadratic time in the length, and a client chooses the number of names. */
const COMPARED_LENGTH_MAX = 64
const COMPARED_MAX = 20

/** The issues for keywords that a handler does not accept. The issue of a misspelled keyword names the most similar keyword. */
export function unknownNames(names: readonly string[], known: ReadonlySet<string>): Issue[] {
  return names.map((name, at) => {
    const meant = at < COMPARED_MAX && name.length <= COMPARED_LENGTH_MAX ? findMeant(name, known) : undefined
    return {
      path: issuePath(name),
      message: meant === undefined ? VALUE_TEXTS.unknown : VALUE_TEXTS.misspelt({ meant }),
    }
  })
}

/** Returns the most similar known name. At most a third of the letters may differ. Upper and lower case do not matter. */
function findMeant(name: string, known: ReadonlySet<string>): string | undefined {
  const distanceMax = Math.floor(name.length / 3)
  const capital = [...known].find((each) => each.toLowerCase() === name.toLowerCase())
  return capital ?? closestMatch(name, [...known], { maxDistance: distanceMax })
}
