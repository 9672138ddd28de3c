import { memberTexts } from './nested-text.ts'

/** An object or array with the text that was sent, because parsing loses digits of large numbers. */
export interface JsonText {
  readonly jsonText: string
  /** The result of `JSON.parse`. */
  readonly parsed: object
}

/** Whether a member of a body is an object or array. A client cannot send a JsonText itself: it would be wrapped again. */
export function isJsonText(value: unknown): value is JsonText {
  return typeof value === 'object' && value !== null && 'jsonText' in value && typeof value.jsonText === 'string'
}

/**
 * Reads a request body. Members that are objects or arrays become a `JsonText`. Numbers that are whole only after rounding become
 * NaN, so that schemas refuse them.
 * @param value the result of `JSON.parse`
 */
export function keepNestedText(text: string, value: unknown): unknown {
  if (!isNested(value) || Array.isArray(value)) return value
  const entries = Object.entries(value)
  if (!entries.some(([, member]) => isNested(member) || Number.isInteger(member))) return value
  const texts = memberTexts(text)
  return Object.fromEntries(entries.map(([key, member]) => [key, keepText(texts.get(key) ?? '', member)]))
}

function keepText(jsonText: string, value: unknown): unknown {
  if (isNested(value)) return { jsonText, parsed: value }
  return Number.isInteger(value) && !isWhole(jsonText) ? Number.NaN : value
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

const LITERAL_LENGTH_MAX = 1_000

/**
 * Whether a JSON number is whole, as `1.0` and `1.5e1` are (reference: Request bodies). A number of more than 1,000 characters
 * is not. `JSON.parse` reads `1.00000000000000000001` as 1, and a schema could not tell the two apart afterwards.
 */
function isWhole(literal: string): boolean {
  if (literal.length > LITERAL_LENGTH_MAX) return false
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? []
  const digits = withoutFinalZeros(whole + fraction)
  // The exponent moves the point. No digit may stand behind it.
  return digits === '' || digits.length <= whole.length + Number(exponent)
}

/** A loop, because the regular expression `0+$` takes quadratic time: it starts anew at every zero. */
function withoutFinalZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
