import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  endOfString,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '@trestle/endpoints/body/json-text.ts'

/** An object or array with its original text, because parsing loses digits of large numbers. */
export interface JsonText {
  readonly jsonText: string
  readonly parsed: object
}

/** Whether a member of a body is an object or array. A client cannot forge a `JsonText`, because it would be wrapped again. */
export function isJsonText(value: unknown): value is JsonText {
  return typeof value === 'object' && value !== null && 'jsonText' in value && typeof value.jsonText === 'string'
}

/**
 * Reads a request body. Members that are objects or arrays become a `JsonText`. Numbers that are whole only because of rounding
 * become `NaN`, so that schemas refuse them.
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
 * Whether a JSON number is whole, such as `1.0` and `1.5e1` (reference: Request bodies). `JSON.parse` reads
 * `1.00000000000000000001` as 1, and a schema could not see the difference. Over 1,000 characters count as not whole.
 */
function isWhole(literal: string): boolean {
  if (literal.length > LITERAL_LENGTH_MAX) return false
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? []
  const digits = withoutFinalZeros(whole + fraction)
  // The exponent moves the decimal point. No digit may remain after it.
  return digits === '' || digits.length <= whole.length + Number(exponent)
}

/** Uses a loop, because the regular expression `0+$` starts again at every zero and takes quadratic time. */
function withoutFinalZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

/** A number in the format of this service, or a JSON word. Other spellings, such as `12E3`, `007` and `-0`, are text. */
const NUMBER_OR_WORD = /^(?:-?[1-9]\d*(?:\.\d+)?|0(?:\.\d+)?|-0\.0*[1-9]\d*|true|false|null)$/
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The types that a column name may contain. */
export const CELL_TYPES = ['text', 'number', 'boolean', 'json'] as const
export type CellType = (typeof CELL_TYPES)[number]

/** The JSON of a CSV cell: the cell itself if it is JSON, otherwise the cell as a JSON string. */
export function readCell(cell: string): string {
  return NUMBER_OR_WORD.test(cell) || (/^["[{]/.test(cell) && isJson(cell)) ? cell : JSON.stringify(cell)
}

/** The JSON of a cell in a typed column, or `undefined` if the cell has another type. */
export function readTypedCell(cell: string, type: CellType): string | undefined {
  switch (type) {
    case 'text':
      return JSON.stringify(cell)
    case 'number':
      return JSON_NUMBER.test(cell) ? cell : undefined
    case 'boolean':
      // Spreadsheets write `TRUE`.
      return /^(?:true|false)$/i.test(cell) ? cell.toLowerCase() : undefined
    case 'json':
      return isJson(cell) ? cell : undefined
  }
}

/**
 * Returns the cell that `readCell` reads as this JSON. A string keeps its quotes only if it would otherwise be read as another
 * value.
 */
export function writeCell(json: string): string {
  if (!json.startsWith('"')) return json
  const text = String(JSON.parse(json))
  // Keep the quotes of an empty string, because an empty cell means no value.
  return text === '' || readCell(text) === text ? json : text
}

/** Whether `JSON.parse` accepts a text as JSON (RFC 8259). */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// These functions find the texts of values in a JSON text in one pass, so that numbers keep every digit. The text must be valid
// JSON. A reviver of `JSON.parse` could do the same, but takes fifty times as long.

/** The text of each value of an object. If a key is repeated, its last value applies. */
export function memberTexts(text: string): Map<string, string> {
  return new Map(
    itemTexts(text).map((member) => {
      const end = endOfString(member, 0) + 1
      return [readKey(member.slice(0, end)), member.slice(member.indexOf(':', end) + 1).trimStart()]
    }),
  )
}

/** The text of each item of an array, or of each member of an object including its key. */
export function itemTexts(text: string): readonly string[] {
  const items: string[] = []
  let [depth, start] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth++
      if (depth === 1) start = at + 1
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
    const isEnd = depth === 0 && (code === CLOSE_OBJECT || code === CLOSE_ARRAY)
    if (!isEnd && (depth !== 1 || code !== COMMA)) continue
    const item = text.slice(start, at).trim()
    // `[]` and `{}` result in one empty item.
    if (item !== '') items.push(item)
    start = at + 1
  }
  return items
}

function readKey(literal: string): string {
  const key: unknown = JSON.parse(literal)
  return String(key)
}
