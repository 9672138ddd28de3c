import { createHash } from 'node:crypto'

/** Where a page ended: the values that the list is ordered by, as text, in their order. */
export type Position = readonly string[]

const CHECKSUM_LENGTH = 8

/**
 * A page's end as an opaque text: the position of its last row, behind a checksum over it and the listing (its path, sort and
 * filters), so that a damaged cursor, or one of another listing, is told from a valid one. It is no secret and guards nothing.
 */
export function encodeCursor(listing: string, position: Position): string {
  const text = JSON.stringify(position)
  return Buffer.from(checksum(listing, text) + text).toString('base64url')
}

/** The position that a cursor holds, or undefined when it is not one of this listing. */
export function decodeCursor(listing: string, cursor: string): Position | undefined {
  const content = Buffer.from(cursor, 'base64url').toString()
  const text = content.slice(CHECKSUM_LENGTH)
  if (content.slice(0, CHECKSUM_LENGTH) !== checksum(listing, text)) return undefined
  const position = parse(text)
  if (!Array.isArray(position) || !position.every((value) => typeof value === 'string')) return undefined
  // Base64 has several spellings of the same bytes; only the one that was given out counts.
  return encodeCursor(listing, position) === cursor ? position : undefined
}

/** Whoever knows the checksum can put it before anything. */
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
