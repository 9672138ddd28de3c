import { createHash } from 'node:crypto'

/** The place of a row in a list: the values that the list is ordered by, as texts, in their order. */
export type Position = readonly string[]

const CHECKSUM_LENGTH = 8

/**
 * Writes the position of a page's last row as an opaque text. A checksum over the position and the listing (path, sort and
 * filters) tells damaged cursors and cursors of other lists from valid ones. The checksum is no secret and protects nothing.
 */
export function encodeCursor(listing: string, position: Position): string {
  const text = JSON.stringify(position)
  return Buffer.from(checksum(listing, text) + text).toString('base64url')
}

/** Reads the position from a cursor. Undefined for a cursor of another listing, and for any other text. */
export function decodeCursor(listing: string, cursor: string): Position | undefined {
  const content = Buffer.from(cursor, 'base64url').toString()
  const text = content.slice(CHECKSUM_LENGTH)
  if (content.slice(0, CHECKSUM_LENGTH) !== checksum(listing, text)) return undefined
  const position = parse(text)
  if (!Array.isArray(position) || !position.every((value) => typeof value === 'string')) return undefined
  // Base64 has several spellings of the same bytes. Only the spelling of `encodeCursor` is accepted.
  return encodeCursor(listing, position) === cursor ? position : undefined
}

/** Anyone can compute the checksum, so the text behind it may not be JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function checksum(listing: string, text: string): string {
  return createHash('sha256').update(`${listing}\n${text}`).digest('base64url').slice(0, CHECKSUM_LENGTH)
}
