import { createHash } from 'node:crypto'

const POSITION = /^([1-9]\d{0,15})\.([A-Za-z0-9_-]{8})$/

/**
 * A page's end as an opaque text: the last id and a checksum over it and the listing (its path, sort and filters), so that
 * a damaged cursor, or one of another listing, is told from a valid one. It is no secret and guards nothing.
 */
export function encodeCursor(listing: string, lastId: number): string {
  return Buffer.from(`${lastId}.${checksum(listing, lastId)}`).toString('base64url')
}

/** The last id of the page before, or undefined when the cursor is not one of this listing. */
export function decodeCursor(listing: string, cursor: string): number | undefined {
  const [, digits, sum] = POSITION.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  const lastId = Number(digits)
  if (!Number.isSafeInteger(lastId) || sum !== checksum(listing, lastId)) return undefined
  // Base64 has several spellings of the same bytes; only the one that was given out counts.
  return encodeCursor(listing, lastId) === cursor ? lastId : undefined
}

function checksum(listing: string, lastId: number): string {
  return createHash('sha256').update(`${listing}\n${lastId}`).digest('base64url').slice(0, 8)
}
