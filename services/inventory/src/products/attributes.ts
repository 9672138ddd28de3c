import { hasForbiddenKey } from '@trestle/endpoints/body/json-text.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import type { JsonText } from '../json/json-object.ts'
import { scanJson } from '../json/scan-json.ts'
import { attributesInvalid } from '../request-errors.ts'

/** JSON text that can be stored as attributes, or the reason for a client why it cannot. */
export type AttributesVerdict =
  | { readonly verdict: 'accepted'; readonly text: string }
  | { readonly verdict: 'refused'; readonly reason: string }

/** Levels of nested objects and arrays (reference: Attributes). */
export const ATTRIBUTES_DEPTH_MAX = 32
/** Keys of all levels together (reference: Attributes). */
export const ATTRIBUTES_KEYS_MAX = 1_000
/** PostgreSQL keeps at most so many digits behind the point. */
const FRACTION_DIGITS_MAX = 16_383

/**
 * Checks attributes as a request sends them (reference: Attributes).
 * @param attributes JSON as text, or an object or array
 * @returns JSON text that can be stored
 * @throws attributesInvalid that says what is wrong with them
 */
export function storableAttributes(attributes: string | JsonText, bytesMax: number): string {
  const checked = checkAttributes(typeof attributes === 'string' ? attributes : attributes.jsonText, bytesMax)
  if (checked.verdict === 'refused') throw attributesInvalid(checked.reason)
  return checked.text
}

/**
 * Checks the JSON text of attributes. The text goes to PostgreSQL as it is, so every number keeps its digits. JavaScript never
 * computes with the numbers.
 * @param bytesMax limit of the text, and of the text with all numbers written out: PostgreSQL prints `1e60000` in full
 */
export function checkAttributes(text: string, bytesMax: number): AttributesVerdict {
  if (Buffer.byteLength(text) > bytesMax) return refused(FIELD_TEXTS.tooManyBytes({ max: bytesMax }))
  const value = parseJson(text)
  if (value === undefined) return refused(FIELD_TEXTS.notJson)
  if (value === null) return refused(FIELD_TEXTS.nothing)
  const scan = scanJson(text)
  if (scan.depth > ATTRIBUTES_DEPTH_MAX) return refused(FIELD_TEXTS.tooDeep({ max: ATTRIBUTES_DEPTH_MAX }))
  if (scan.keys > ATTRIBUTES_KEYS_MAX) return refused(FIELD_TEXTS.tooManyKeys({ max: ATTRIBUTES_KEYS_MAX }))
  if (hasForbiddenKey(text, value)) return refused(FIELD_TEXTS.forbiddenKey)
  if (scan.unstorableText) return refused(FIELD_TEXTS.notStorable)
  if (Buffer.byteLength(text) + scan.numberGrowth > bytesMax || scan.fractionDigits > FRACTION_DIGITS_MAX) {
    return refused(FIELD_TEXTS.holdsLongNumber)
  }
  return { verdict: 'accepted', text }
}

function refused(reason: string): AttributesVerdict {
  return { verdict: 'refused', reason }
}

/** The value, or undefined when the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
