import type { HttpError } from '@trestle/common/errors/define-error.ts'
import {
  bodyNotJson,
  bodyNotJsonFrom,
  bodyNotObject,
  bodyNotUtf8,
  bodyTooDeep,
  tooManyFields,
  tooManyMembers,
  unstorableText,
} from '../request-errors.ts'

const DEPTH_MAX = 64
/** The greatest number of members of all objects and arrays together. Metadata of 64 KiB reach it only with lists of digits. */
const MEMBERS_MAX = 10_000
/** The limit for a body without metadata. Objects with different names parse ten times as slowly as arrays. */
export const FEW_MEMBERS = 500
/** The most top-level members or form fields. No route needs twelve, and each new name takes V8 time. */
export const FIELDS_MAX = 100
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Parses the object of a body or a line, without members that are `null`. Returns `undefined` for an empty text.
 * @param membersMax the most members of all objects and arrays together
 */
export function parseJson(text: string, membersMax = MEMBERS_MAX): Record<string, unknown> | undefined {
  if (text.trim() === '') return undefined
  const problem = shapeProblem(text, membersMax)
  if (problem !== undefined) throw problem
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw notJson(cause)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bodyNotObject()
  if (MAY_BE_REFUSED.test(text)) checkStrings(value)
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
}

/**
 * Matches texts that `checkStrings` might reject: those with a forbidden key or an escape. Without an escape, JSON cannot contain
 * NUL or a lone surrogate. Most bodies skip the check, which takes as long as the parser.
 */
const MAY_BE_REFUSED = /\\u|__proto__|constructor|prototype/

export function decodeUtf8(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (cause) {
    throw bodyNotUtf8({ cause })
  }
}

/** The error for invalid JSON. It contains only the position from the parser's message, which also quotes the body. */
function notJson(cause: unknown): HttpError {
  const position = / at position (\d+)/.exec(cause instanceof Error ? cause.message : '')?.[1]
  return position === undefined
    ? bodyNotJson({ cause })
    : bodyNotJsonFrom({ character: Number(position) + 1 }, { cause })
}

/** Checks the depth and the number of members before parsing, by the brackets and commas outside of strings. */
function shapeProblem(text: string, membersMax: number): HttpError | undefined {
  let depth = 0
  let members = 0
  let fields = 1
  let inString = false
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index)
    if (inString) {
      if (character === BACKSLASH) index += 1
      else if (character === QUOTE) inString = false
    } else if (character === QUOTE) inString = true
    else if (character === OPEN_BRACE || character === OPEN_BRACKET) {
      depth += 1
      if (depth > DEPTH_MAX) return bodyTooDeep({ max: DEPTH_MAX })
    } else if (character === CLOSE_BRACE || character === CLOSE_BRACKET) depth -= 1
    else if (character === COMMA) {
      members += 1
      if (members >= membersMax) return tooManyMembers({ max: membersMax })
      if (depth === 1) fields += 1
      if (fields > FIELDS_MAX) return tooManyFields({ max: FIELDS_MAX })
    }
  }
  return undefined
}

const COMMA = 0x2c
const QUOTE = 0x22
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Rejects NUL and lone surrogates, which PostgreSQL cannot store. Removes keys that could change a prototype. */
export function checkStrings<T>(value: T): T {
  if (typeof value === 'string') checkString(value)
  else if (typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value)) {
      checkString(key)
      if (FORBIDDEN_KEYS.has(key)) Reflect.deleteProperty(value, key)
      else checkStrings(Reflect.get(value, key))
    }
  }
  return value
}

function checkString(text: string): void {
  if (text.includes('\0') || !text.isWellFormed()) throw unstorableText()
}
