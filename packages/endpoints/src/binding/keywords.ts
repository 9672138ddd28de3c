import { PROBLEM_TEXTS } from '../error-texts.ts'
import { CallError } from '../errors.ts'
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
