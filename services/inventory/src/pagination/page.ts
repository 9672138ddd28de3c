import { createHash } from 'node:crypto'
import { cursorForeign, limitTooHigh } from '../errors.ts'

export interface PageLimits {
  /** The number of rows per page if the request states no limit. */
  readonly defaultLimit: number
  readonly limitMax: number
}

/** Checks whether a text can be a value of a position, like a regular expression. */
export interface PositionForm {
  test(value: string): boolean
}

interface Listing {
  readonly path: string
  /** Sort and filters, as one text. */
  readonly selection?: string | undefined
  /** The format of each value of a position. A client can forge a cursor, so its values must be checked. */
  readonly positionForms: readonly PositionForm[]
}

export function listingById(path: string): Listing {
  return { path, positionForms: [ID_FORM] }
}

/** The format of an id in a position: up to 16 digits, without a leading zero. */
export const ID_FORM = /^[1-9]\d{0,15}$/

/** The position of a row in a list by id, for the cursor of the next page. */
export function positionById({ id }: { readonly id: number }): Position {
  return [String(id)]
}

interface PageQuery {
  readonly limit: number
  /** The position after which the page begins. `undefined` on the first page. */
  readonly after: Position | undefined
}

/** @throws limitTooHigh for too many rows, cursorForeign for a cursor of another list */
export function readPage(
  listing: Listing,
  limits: PageLimits,
  {
    limit = limits.defaultLimit,
    cursor,
  }: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
): PageQuery {
  if (limit > limits.limitMax) throw limitTooHigh(limits.limitMax)
  if (cursor === undefined) return { limit, after: undefined }
  const after = decodeCursor(nameOfListing(listing), cursor)
  const { positionForms } = listing
  if (after?.length === positionForms.length && positionForms.every((form, at) => form.test(after[at] ?? ''))) {
    return { limit, after }
  }
  throw cursorForeign()
}

/** The text that identifies a list. Cursors are bound to it. */
export function nameOfListing({ path, selection }: Listing): string {
  return selection === undefined ? path : `${path}?${selection}`
}

export interface Page<T> {
  readonly rows: readonly T[]
  /** `undefined` on the last page. */
  readonly next: string | undefined
}

/** Cuts a page from at most `limit + 1` rows. An additional row means that there is a next page. */
export function cutPage<T>(
  listing: Listing,
  limit: number,
  rowsAndOne: readonly T[],
  positionOf: (row: T) => Position,
): Page<T> {
  const rows = rowsAndOne.slice(0, limit)
  const last = rows.at(-1)
  const hasNext = rowsAndOne.length > limit && last !== undefined
  return { rows, next: hasNext ? encodeCursor(nameOfListing(listing), positionOf(last)) : undefined }
}

type Query = Readonly<Record<string, unknown>>

interface LinkedPages {
  readonly path: string
  /** The query of the request, which the links repeat. */
  readonly query: Query
  /** The cursor of the next page. */
  readonly next: string | undefined
}

/** The header `Link` of a page (RFC 8288): always `first`, and `next` if there is a next page. */
export function pageLinks({ path, query, next }: LinkedPages): string {
  const { cursor: _, ...repeated } = query
  const first = `<${withQuery(path, repeated)}>; rel="first"`
  return next === undefined ? first : `<${withQuery(path, { ...repeated, cursor: next })}>; rel="next", ${first}`
}

function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
  const text = new URLSearchParams(pairs).toString()
  return text === '' ? path : `${path}?${text}`
}

/** The position of a row in a list: the values by which the list is sorted, as text, in order. */
export type Position = readonly string[]

const CHECKSUM_LENGTH = 8

/**
 * Encodes the position of a page's last row as an opaque text. A checksum over the position and the listing (path, sort and
 * filters) detects damaged cursors and cursors of other lists. The checksum is no security measure.
 */
export function encodeCursor(listing: string, position: Position): string {
  const text = JSON.stringify(position)
  return Buffer.from(checksum(listing, text) + text).toString('base64url')
}

/** Decodes the position in a cursor. Returns `undefined` for a cursor of another listing and for any other text. */
export function decodeCursor(listing: string, cursor: string): Position | undefined {
  const content = Buffer.from(cursor, 'base64url').toString()
  const text = content.slice(CHECKSUM_LENGTH)
  if (content.slice(0, CHECKSUM_LENGTH) !== checksum(listing, text)) return undefined
  const position = parse(text)
  if (!Array.isArray(position) || !position.every((value) => typeof value === 'string')) return undefined
  // Base64 can encode the same bytes in several ways. Accept only the encoding of `encodeCursor`.
  return encodeCursor(listing, position) === cursor ? position : undefined
}

/** A client can compute a valid checksum, so the text may not be JSON. */
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
