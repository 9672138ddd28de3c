/**
 * Whether the percent-escapes of a query or form stand for UTF-8. Parsers of such texts put U+FFFD in place of other bytes, or
 * leave their escapes as they are. A bare `%` is no escape, and stays the character that it is.
 */
export function encodesUtf8(text: string): boolean {
  return (text.match(ESCAPES) ?? []).every(isUtf8)
}

/** Escapes that follow each other: one of them alone may be a part of a character. */
const ESCAPES = /(?:%[0-9a-f]{2})+/gi

function isUtf8(escapes: string): boolean {
  try {
    decodeURIComponent(escapes)
    return true
  } catch {
    return false
  }
}
