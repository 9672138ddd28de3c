/** Codes of characters between the values of a JSON text, for code that reads it without a parser. */
export const [QUOTE, COMMA] = [0x22, 0x2c]
/** Codes of characters that begin and end its objects and arrays. */
export const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
const BACKSLASH = 0x5c

/** The index of the quote that ends the string which begins at `start` of a JSON text. */
export function endOfString(text: string, start: number): number {
  let end = start + 1
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === QUOTE) break
    if (code === BACKSLASH) end++
  }
  return end
}

/** A text without a match has no forbidden key. Only an escape could hide one. */
const MAY_FORBID = /__proto__|constructor|\\u/

/**
 * Whether a key at any depth could reach a prototype: `__proto__`, and `constructor` whose value has a key `prototype`.
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
