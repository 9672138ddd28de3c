import { memberTexts } from './nested-text.ts'

/** A member that is an object or an array, with the text it was sent as: parsing it costs large numbers their digits. */
export interface JsonText {
  readonly jsonText: string
  /** What `JSON.parse` makes of the text. */
  readonly parsed: object
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

/** No honest number is longer. */
const LITERAL_LENGTH_MAX = 1_000

/**
 * Whether a number of the JSON grammar is whole, as `1.0` and `1.5e1` are (reference: Request bodies). A number of more than 1,000
 * characters is not.
 * `JSON.parse` makes 1 of `1.00000000000000000001`, and no schema could tell the two apart afterwards.
 */
function isWhole(literal: string): boolean {
  if (literal.length > LITERAL_LENGTH_MAX) return false
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? []
  const digits = withoutFinalZeros(whole + fraction)
  // How many of the digits stand behind the point once the exponent has moved it.
  return digits === '' || digits.length <= whole.length + Number(exponent)
}

/** A loop from the end: the expression `0+$` starts anew at every zero, so its time grows with the square of the length. */
function withoutFinalZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
