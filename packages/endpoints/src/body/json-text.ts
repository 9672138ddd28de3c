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
