import type { Timestamp } from '../records/timestamp.ts'
import { cursorMalformed } from '../request-errors.ts'

/** A place in a list that is ordered by creation: after this row. */
export interface Cursor {
  readonly createdAt: Timestamp
  readonly id: string
}

const CURSOR = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** Formats a cursor for clients: base64url, without a signature. It tells only what the row itself tells. */
export function formatCursor({ createdAt, id }: Cursor): string {
  return Buffer.from(`${createdAt} ${id}`).toString('base64url')
}

/** The position after which a page begins. @throws cursorMalformed when the text is not one that `formatCursor` makes */
export function parseCursor(text: string): Cursor {
  const [, createdAt, id] = CURSOR.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (createdAt === undefined || id === undefined || !isOfCalendar(createdAt)) refuseCursor()
  return { createdAt, id }
}

/** Refuses a text that is no cursor of the list. @throws cursorMalformed */
export function refuseCursor(): never {
  throw cursorMalformed()
}

/** Whether a time exists. PostgreSQL refuses February 30, which `Date` takes for a day of March. */
function isOfCalendar(timestamp: Timestamp): boolean {
  const ms = Date.parse(timestamp)
  return !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, -1) === timestamp.slice(0, -'000+00:00'.length)
}
