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
 * reach a prototype.
 * @throws CallError 400
 */
export function parseJson(text: string, codec: JsonCodec): unknown {
  try {
    const value: unknown = JSON.parse(text)
    checkKeys(value, 1)
    return codec.parse(text, value)
  } catch (cause) {
    throw cause instanceof CallError ? cause : new CallError(400, 'The body is no JSON', { cause })
  }
}

function checkKeys(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > DEPTH_MAX) throw new CallError(400, `The body is nested deeper than ${DEPTH_MAX} levels`)
  if (Array.isArray(value)) {
    for (const item of value) checkKeys(item, depth + 1)
    return
  }
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || (key === 'constructor' && holdsPrototype(item))) {
      throw new CallError(400, 'The body has a key with a forbidden name')
    }
    checkKeys(item, depth + 1)
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
