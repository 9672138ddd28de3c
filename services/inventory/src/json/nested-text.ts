/**
 * Texts of values inside a JSON text, found in one pass over its characters. No value is built, so they cost little even where
 * what they find is refused for its size. Both expect a text that `JSON.parse` has accepted.
 */

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]

/** The members of an object that are objects or arrays, each as its own text; of a repeated key the last. */
export function nestedTexts(text: string): ReadonlyMap<string, string> {
  const nested = new Map<string, string>()
  let [depth, start, key, isKey] = [0, 0, '', true]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const end = endOfString(text, at)
      if (depth === 1 && isKey) key = text.slice(at, end + 1)
      if (depth === 1) isKey = false
      at = end
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (depth === 1) start = at
      depth++
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth--
      if (depth === 1) nested.set(readKey(key), text.slice(start, at + 1))
    } else if (code === COMMA && depth === 1) isKey = true
  }
  return nested
}

/** Whether an array has more than `most` items. Reads no further than to the item beyond them. */
export function hasMoreItems(text: string, most: number): boolean {
  let [depth, commas] = [0, 0]
  for (let at = 0; at < text.length && commas < most; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth++
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
    else if (code === COMMA && depth === 1) commas++
  }
  return commas >= most
}

/** Where the quote stands that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = start + 1
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === QUOTE) break
    if (code === BACKSLASH) end++
  }
  return end
}

function readKey(literal: string): string {
  const key: unknown = JSON.parse(literal)
  return String(key)
}
