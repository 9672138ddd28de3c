import { parseExactly } from './exact-numbers.ts'
import { nestedTexts } from './nested-text.ts'

/** A member that is an object or an array, as the text it was sent as: parsing it would cost large numbers their digits. */
export interface JsonText {
  readonly jsonText: string
}

/** Whether a member of a body is an object or an array. No client can send a JsonText as such: it would be wrapped again. */
export function isJsonText(value: unknown): value is JsonText {
  return typeof value === 'object' && value !== null && 'jsonText' in value && typeof value.jsonText === 'string'
}

/**
 * The value of a request body, with those members of its object that are objects or arrays as the text they were sent as, and
 * without numbers that only rounding makes whole.
 * @param value what `JSON.parse` makes of the text
 */
export function keepNestedText(text: string, value: unknown): unknown {
  if (!isNested(value) || Array.isArray(value)) return value
  const entries = Object.entries(hasRounded(text, value) ? Object(parseExactly(text)) : value)
  if (!entries.some(([, member]) => isNested(member))) return Object.fromEntries(entries)
  const nested = nestedTexts(text)
  return Object.fromEntries(
    entries.map(([key, member]) => [key, isNested(member) ? { jsonText: nested.get(key) } : member]),
  )
}

/** Whether a member may be a number that was rounded: one that is written with a point or an exponent. */
function hasRounded(text: string, value: object): boolean {
  return /\d[.eE]/.test(text) && Object.values(value).some(Number.isInteger)
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
