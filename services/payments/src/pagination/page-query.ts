/** The page that a client asks for. Cursors are ids of the listed kind, in lower case; both bounds are exclusive. */
export interface PageRequest {
  /** 1 to 1000. */
  readonly limit: number
  readonly before?: string | undefined
  readonly after?: string | undefined
}

/** A page for a query: `above < id < below`, in `order`, at most `limit` rows. */
export interface PageBounds {
  readonly limit: number
  readonly above: string
  readonly below: string
  readonly order: 'newest-first' | 'oldest-first'
}

/** The empty page of a request that is already refused. Its access is still judged. */
export const NO_PAGE: PageRequest = { limit: 0 }

/** The form of the id of every object, in any case. */
export const ID_FORM = /^[0-9a-f]{24}$/i

/** The lower bound of a page without one: less than every id. */
export const LOWEST = ''
/** Greater than every id: ids are hexadecimal digits, compared by byte. */
export const HIGHEST = 'g'

/**
 * The bounds and order of a page. The order is reversed when `after` is given without `before`. Ids are compared by
 * value, so a cursor need not name an existing object (reference: Pagination).
 */
export function pageBounds({ limit, before, after }: PageRequest): PageBounds {
  return {
    limit,
    above: after ?? LOWEST,
    below: before ?? HIGHEST,
    order: after !== undefined && before === undefined ? 'oldest-first' : 'newest-first',
  }
}

/** The page of a list that is asked for one row by its id. */
export const ONE_ROW: PageBounds = { limit: 1, above: LOWEST, below: HIGHEST, order: 'newest-first' }

/**
 * The bounds of one statement that reads a list, so that no statement keeps others waiting for long: rows, and the entries
 * that belong to them. After a chunk with more bytes, the next one has fewer rows.
 */
export const CHUNK = { rows: 100, entries: 500, bytes: 1_000_000 } as const

/** Calls `read` when it is the client's turn. `size` is the number of rows or entries. */
export type InTurn = <T>(size: number, read: () => Promise<T>) => Promise<T>

/** Rows of a page, in its order. */
export interface Chunk<Row> {
  readonly rows: readonly Row[]
  /** Whether the page has more rows. */
  readonly isCut: boolean
}
