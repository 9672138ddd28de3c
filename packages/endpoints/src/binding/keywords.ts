import { closestMatch } from 'leven'
import { PROBLEM_TEXTS, VALUE_TEXTS } from '../error-texts.ts'
import { CallError, type Issue } from '../errors.ts'
import { decodePercent } from '../routing/target.ts'

/** Keyword arguments by name. The object has no prototype, so a name such as `constructor` is an ordinary key. */
export type Keywords = Record<string, unknown>

/** Most keywords of one request. More of them would only cost time to refuse. */
export const KEYWORDS_MAX = 1_000

/** The keywords of a call without any. */
export const noKeywords: Readonly<Keywords> = Object.freeze(emptyKeywords())

/** Makes keywords without a prototype, so that `__proto__` and `toString` are names as all others are. */
export function emptyKeywords(): Keywords {
  return Object.create(null)
}

/**
 * Reads `a=1&b=2` of a query or form. A repeated key gives a list, and `+` is a space.
 * @param isAbsent whether `a=` counts as absent. A bare `a` stays
 * @throws CallError 400 for a broken percent sequence, too many keys, or `__proto__`
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
 * Adds a value. A second value of the same name makes a list.
 * @throws CallError 400 for the name `__proto__`, which would change the prototype
 */
export function addKeyword(keywords: Keywords, name: string, value: unknown): void {
  if (name === '__proto__') throw new CallError(400, PROBLEM_TEXTS.forbiddenKeyword)
  const known = keywords[name]
  if (known === undefined) keywords[name] = value
  else if (Array.isArray(known)) known.push(value)
  else keywords[name] = [known, value]
}

/** The error for a request with more than KEYWORDS_MAX keywords: 400. */
export function tooManyKeywords(): CallError {
  return new CallError(400, PROBLEM_TEXTS.tooManyKeywords({ max: KEYWORDS_MAX }))
}

function decodePart(text: string): string {
  return decodePercent(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** The place that gets the body of a request: among the keywords, behind the positionals, or nowhere but `this.request`. */
export type BodyUse = 'keywords' | 'positionals' | 'raw'

/** The object pattern of a parameter list, which receives the keywords. */
export interface KeywordPattern {
  readonly index: number
  readonly required: readonly string[]
  /** Every key that the pattern names. */
  readonly known: ReadonlySet<string>
  /** `{ a, ...rest }`: accepts further keys. */
  readonly open: boolean
}

export interface Binding {
  /** How many positionals a path must have, and may have. */
  readonly min: number
  readonly max: number
  /** How many of them have a name. The rest counts as one. */
  readonly places: number
  /** The keywords of an undeclared handler. */
  readonly keywords: KeywordPattern | undefined
  readonly body: BodyUse
  /** Whether the handler takes a keyword of this name. */
  readonly knows: (name: string) => boolean
  /**
   * Makes the arguments of a call.
   * @throws ValidationError for invalid keywords or values, and for too few or too many positionals in the body
   */
  readonly bind: (positionals: readonly unknown[], keywords: Keywords) => Arguments | Promise<Arguments>
}

/** The arguments of a handler, in the order of its parameters. */
export type Arguments = readonly unknown[]

const NAME_LENGTH_MAX = 64

/** The path of an issue about a keyword. It is cut, because a client may send a very long name. */
export function issuePath(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX)
}

/** Comparing takes time with the square of the length, and a client chooses how many names it sends. */
const COMPARED_LENGTH_MAX = 64
const COMPARED_MAX = 20

/** The issues of keywords that a handler does not take. A misspelt one names the keyword that it probably means. */
export function unknownNames(names: readonly string[], known: ReadonlySet<string>): Issue[] {
  return names.map((name, at) => {
    const meant = at < COMPARED_MAX && name.length <= COMPARED_LENGTH_MAX ? findMeant(name, known) : undefined
    return {
      path: issuePath(name),
      message: meant === undefined ? VALUE_TEXTS.unknown : VALUE_TEXTS.misspelt({ meant }),
    }
  })
}

/** The name of which at most a third of the letters differ, capitals aside. */
function findMeant(name: string, known: ReadonlySet<string>): string | undefined {
  const distanceMax = Math.floor(name.length / 3)
  const capital = [...known].find((each) => each.toLowerCase() === name.toLowerCase())
  return capital ?? closestMatch(name, [...known], { maxDistance: distanceMax })
}
