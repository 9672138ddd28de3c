import { KEYWORDS_MAX, tooManyKeywords } from '../binding/keywords.ts'
import { CallError } from '../errors.ts'

/** JSON in both directions; an application may bring its own, for instance to keep big numbers. */
export interface JsonCodec {
  /** `value` is what `JSON.parse` makes of the text; it has been checked. */
  readonly parse: (text: string, value: unknown) => unknown
  /** Undefined for what JSON cannot hold. */
  readonly stringify: (value: unknown) => string | undefined
}

const DEPTH_MAX = 64

/**
 * Reads the JSON of a request. Whatever reads it, the text must be JSON of at most 64 levels without keys that could
 * reach a prototype, and an object of at most 1,000 members.
 * @throws CallError 400
 */
export function parseJson(text: string, codec: JsonCodec): unknown {
  checkShape(text)
  try {
    const value: unknown = JSON.parse(text)
    if (MAY_FORBID.test(text)) checkKeys(value)
    return codec.parse(text, value)
  } catch (cause) {
    throw cause instanceof CallError ? cause : new CallError(400, 'The body is no JSON', { cause })
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * Refuses what is nested too deep or has too many members by its characters alone: `JSON.parse` takes ten times as long, and
 * every look at what it makes as long again. A text that is no JSON may pass.
 */
function checkShape(text: string): void {
  let [depth, commas] = [0, 0]
  let isObject = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth++
      if (depth === 1) isObject = code === OPEN_OBJECT
      if (depth > DEPTH_MAX) throw new CallError(400, `The body is nested deeper than ${DEPTH_MAX} levels`)
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
    else if (code === COMMA && depth === 1 && isObject) {
      commas++
      if (commas >= KEYWORDS_MAX) throw tooManyKeywords()
    }
  }
}

/** Where the quote stands that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = start + 1
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === QUOTE) break
    if (code === BACKSLASH) end++
  }
  return end
}

/** A text without a match has no key with a forbidden name: only an escape could hide one. */
const MAY_FORBID = /__proto__|constructor|\\u/

function checkKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) checkKeys(item)
    return
  }
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || (key === 'constructor' && holdsPrototype(item))) {
      throw new CallError(400, 'The body has a key with a forbidden name')
    }
    checkKeys(item)
  }
}

function holdsPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}

/** The built-in JSON, with big integers written digit by digit. */
export const builtInJson: JsonCodec = {
  parse: (_text, value) => value,
  stringify(value) {
    try {
      return JSON.stringify(value)
    } catch (error) {
      const exact = stringifyBigIntegers(value)
      if (exact === undefined) throw error
      return exact
    }
  },
}

/** Undefined when there are none: then something else is wrong with the value. */
function stringifyBigIntegers(value: unknown): string | undefined {
  // A name that no client can guess marks the digits while they are still text.
  const mark = crypto.randomUUID()
  let found = false
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'bigint') return item
    found = true
    return `${mark}${item}`
  })
  return found ? text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1') : undefined
}
