export const [QUOTE, COMMA] = [0x22, 0x2c]
export const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
const BACKSLASH = 0x5c

/** Returns the index of the quote that ends the JSON string starting at `start`. */
export function endOfString(text: string, start: number): number {
  let end = start + 1
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === QUOTE) break
    if (code === BACKSLASH) end++
  }
  return end
}

/** A text that does not match has no forbidden key. The escape `\u` is included, because it can hide such a key. */
const MAY_FORBID = /__proto__|constructor|\\u/

/**
 * Returns whether a key at any depth could reach a prototype: `__proto__`, or `constructor` whose value has a key `prototype`.
 * @param value the result of `JSON.parse` for this text
 */
export function hasForbiddenKey(text: string, value: unknown): boolean {
  return MAY_FORBID.test(text) && findsForbidden(value)
}

function findsForbidden(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(findsForbidden)
  return Object.entries(value).some(
    ([key, item]) => key === '__proto__' || (key === 'constructor' && holdsPrototype(item)) || findsForbidden(item),
  )
}

function holdsPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
