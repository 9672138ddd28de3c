import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  endOfString,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '@trestle/endpoints/body/json-text.ts'

/** An object or array with the text that was sent, because parsing loses digits of large numbers. */
export interface JsonText {
  readonly jsonText: string
  readonly parsed: object
}

/** Whether a member of a body is an object or array. A client cannot send a JsonText: it would be wrapped again. */
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
 * Whether a JSON number is whole, such as `1.0` and `1.5e1` (reference: Request bodies). A number of more than 1,000
 * characters is not. `JSON.parse` reads `1.00000000000000000001` as 1, and a schema could not distinguish the two afterwards.
 */
function isWhole(literal: string): boolean {
  if (literal.length > LITERAL_LENGTH_MAX) return false
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? []
  const digits = withoutFinalZeros(whole + fraction)
  // The exponent moves the point. No digit may stand behind it.
  return digits === '' || digits.length <= whole.length + Number(exponent)
}

/** A loop, because the regular expression `0+$` takes quadratic time: it starts again at every zero. */
function withoutFinalZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

/** A number as this service writes it, or a word of JSON. Other spellings, such as `12E3`, `007` and `-0`, are texts. */
const NUMBER_OR_WORD = /^(?:-?[1-9]\d*(?:\.\d+)?|0(?:\.\d+)?|-0\.0*[1-9]\d*|true|false|null)$/
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The types that the name of a column may state. */
export const CELL_TYPES = ['text', 'number', 'boolean', 'json'] as const
export type CellType = (typeof CELL_TYPES)[number]

/** The JSON of a cell of a CSV file: the cell itself if it is JSON, otherwise the cell as a JSON text. */
export function readCell(cell: string): string {
  return NUMBER_OR_WORD.test(cell) || (/^["[{]/.test(cell) && isJson(cell)) ? cell : JSON.stringify(cell)
}

/** The JSON of a cell whose column states its type; undefined if the cell has another type. */
export function readTypedCell(cell: string, type: CellType): string | undefined {
  switch (type) {
    case 'text':
      return JSON.stringify(cell)
    case 'number':
      return JSON_NUMBER.test(cell) ? cell : undefined
    case 'boolean':
      // Spreadsheets write TRUE.
      return /^(?:true|false)$/i.test(cell) ? cell.toLowerCase() : undefined
    case 'json':
      return isJson(cell) ? cell : undefined
  }
}

/**
 * The cell that `readCell` reads as this JSON. A text keeps its quotes only if it would be read as another value without
 * them.
 */
export function writeCell(json: string): string {
  if (!json.startsWith('"')) return json
  const text = String(JSON.parse(json))
  // An empty cell means no value.
  return text === '' || readCell(text) === text ? json : text
}

/** Whether a text is JSON (RFC 8259), by the parser of JavaScript. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// These functions find the texts of values inside a JSON text in one pass, so that numbers keep every digit.
// They expect a text that `JSON.parse` has accepted. A reviver of `JSON.parse` could do the same, but takes
// fifty times as long.

/** The text of each value of an object. Of a repeated key, the last value counts. */
export function memberTexts(text: string): Map<string, string> {
  return new Map(
    itemTexts(text).map((member) => {
      const end = endOfString(member, 0) + 1
      return [readKey(member.slice(0, end)), member.slice(member.indexOf(':', end) + 1).trimStart()]
    }),
  )
}

/** The text of each item of an array, or of each member of an object with its key. */
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
    // `[]` and `{}` have one empty item.
    if (item !== '') items.push(item)
    start = at + 1
  }
  return items
}

function readKey(literal: string): string {
  const key: unknown = JSON.parse(literal)
  return String(key)
}
