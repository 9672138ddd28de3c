/**
 * Returns whether the percent-escapes of a query or form encode UTF-8. Parsers replace other bytes with U+FFFD, or leave their
 * escapes unchanged. A bare `%` is not an escape and stays a `%`.
 */
export function encodesUtf8(text: string): boolean {
  return (text.match(ESCAPES) ?? []).every(isUtf8)
}

/** Matches sequences of escapes, because a single escape may be only a part of a character. */
const ESCAPES = /(?:%[0-9a-f]{2})+/gi

function isUtf8(escapes: string): boolean {
  try {
    decodeURIComponent(escapes)
    return true
  } catch {
    return false
  }
}
