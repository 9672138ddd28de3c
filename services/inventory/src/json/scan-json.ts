import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  endOfString,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '@trestle/endpoints/body/json-text.ts'

/** Properties of a JSON text, found in one pass over its characters. */
export interface JsonScan {
  /** The nesting depth of objects and arrays: 0 for a scalar, 1 for `{}`. */
  readonly depth: number
  /** The number of keys in all objects, including repeated keys. */
  readonly keys: number
  /** Whether a string contains U+0000 or half a surrogate pair, which PostgreSQL cannot store. */
  readonly unstorableText: boolean
  /** The number of characters by which the text grows if every number is written without exponent. */
  readonly numberGrowth: number
  /** The largest number of digits after a decimal point. */
  readonly fractionDigits: number
}

interface ScanState {
  readonly text: string
  depth: number
  deepest: number
  keys: number
  unstorableText: boolean
  numberGrowth: number
  fractionDigits: number
  /** For each open level, whether it is an object. */
  readonly isObject: boolean[]
  expectsKey: boolean
}

const [MINUS, ZERO, NINE] = [0x2d, 0x30, 0x39]

/** Scans a text that `JSON.parse` has accepted, without checking the grammar again. */
export function scanJson(text: string): JsonScan {
  const state: ScanState = {
    text,
    depth: 0,
    deepest: 0,
    keys: 0,
    unstorableText: !text.isWellFormed(),
    numberGrowth: 0,
    fractionDigits: 0,
    isObject: [false],
    expectsKey: false,
  }
  for (let at = 0; at < text.length; ) at = scanToken(state, at)
  return { ...state, depth: state.deepest }
}

/** Scans the token at `at`. Returns the index of the next token. */
function scanToken(state: ScanState, at: number): number {
  const code = state.text.charCodeAt(at)
  if (code === QUOTE) return scanString(state, at)
  if (code === MINUS || (code >= ZERO && code <= NINE)) return scanNumber(state, at)
  if (code === OPEN_OBJECT || code === OPEN_ARRAY) openLevel(state, code === OPEN_OBJECT)
  else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) closeLevel(state)
  else if (code === COMMA) state.expectsKey = state.isObject[state.depth] === true
  return at + 1
}

function openLevel(state: ScanState, isObject: boolean): void {
  state.depth++
  state.deepest = Math.max(state.deepest, state.depth)
  state.isObject[state.depth] = isObject
  state.expectsKey = isObject
}

function closeLevel(state: ScanState): void {
  state.depth--
  state.expectsKey = false
}

function scanString(state: ScanState, start: number): number {
  const end = endOfString(state.text, start) + 1
  const literal = state.text.slice(start, end)
  const escaped = literal.includes('\\')
  if (escaped || state.expectsKey) {
    const value = escaped ? readString(literal) : literal.slice(1, -1)
    if (escaped && (value.includes('\0') || !value.isWellFormed())) state.unstorableText = true
    if (state.expectsKey) state.keys++
  }
  state.expectsKey = false
  return end
}

function readString(literal: string): string {
  const value: unknown = JSON.parse(literal)
  return String(value)
}

function scanNumber(state: ScanState, start: number): number {
  let end = start + 1
  while (isNumberCharacter(state.text.charCodeAt(end))) end++
  const { length, fractionDigits } = numberSize(state.text.slice(start, end))
  state.numberGrowth += Math.max(0, length - (end - start))
  state.fractionDigits = Math.max(state.fractionDigits, fractionDigits)
  return end
}

function isNumberCharacter(code: number): boolean {
  return (
    (code >= ZERO && code <= NINE) || code === 0x2b || code === MINUS || code === 0x2e || code === 0x45 || code === 0x65
  )
}

interface NumberSize {
  /** The number of characters, including sign and point. */
  readonly length: number
  /** The number of digits after the point. */
  readonly fractionDigits: number
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * Returns the size of a JSON number without exponent: `1e2` is `100`, `1.5e-3` is `0.0015`. The size is computed, because
 * `1e100000000` would become a hundred million characters.
 */
export function numberSize(literal: string): NumberSize {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(literal) ?? []
  const shift = Number(exponent)
  const fractionDigits = Math.max(0, fraction.length - shift)
  const wholeDigits = Math.max(1, whole.length + shift)
  return { length: sign.length + wholeDigits + (fractionDigits > 0 ? 1 + fractionDigits : 0), fractionDigits }
}
