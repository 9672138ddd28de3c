import { KEYWORDS_MAX, tooManyKeywords } from '../binding/keywords.ts'
import { PROBLEM_TEXTS } from '../error-texts.ts'
import { CallError } from '../errors.ts'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  endOfString,
  hasForbiddenKey,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './json-text.ts'

/** Parses and formats JSON. An application may replace it, for example to keep big numbers. */
export interface JsonCodec {
  /** @param value the result of `JSON.parse`, already checked */
  readonly parse: (text: string, value: unknown) => unknown
  /** Returns `undefined` for a value that JSON cannot represent. */
  readonly stringify: (value: unknown) => string | undefined
}

const DEPTH_MAX = 64

/**
 * Parses the JSON of a request. Even with a codec of the application, the text must be valid JSON with at most 64 levels and no
 * keys that could reach a prototype. An object may have at most 1,000 members.
 * @throws CallError 400
 */
export function parseJson(text: string, codec: JsonCodec): unknown {
  checkShape(text)
  try {
    const value: unknown = JSON.parse(text)
    if (hasForbiddenKey(text, value)) throw new CallError(400, PROBLEM_TEXTS.forbiddenKey)
    return codec.parse(text, value)
  } catch (cause) {
    throw cause instanceof CallError ? cause : new CallError(400, PROBLEM_TEXTS.bodyNotJson, { cause })
  }
}

/**
 * Refuses text that is nested too deeply or has too many members. The function only scans characters, because `JSON.parse` takes
 * ten times as long. It may accept text that is not valid JSON.
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
      if (depth > DEPTH_MAX) throw new CallError(400, PROBLEM_TEXTS.bodyTooDeep({ max: DEPTH_MAX }))
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
    else if (code === COMMA && depth === 1 && isObject) {
      commas++
      if (commas >= KEYWORDS_MAX) throw tooManyKeywords()
    }
  }
}

/** The built-in codec. It writes bigints with all their digits. */
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

/** Returns `undefined` for a value without bigints. In this case another part of the value caused the error. */
function stringifyBigIntegers(value: unknown): string | undefined {
  // Use a random mark, which no client can guess, to distinguish the digits from other strings.
  const mark = crypto.randomUUID()
  let found = false
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'bigint') return item
    found = true
    return `${mark}${item}`
  })
  return found ? text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1') : undefined
}
