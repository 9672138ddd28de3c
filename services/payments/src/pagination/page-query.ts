/** The page that a client requests. Cursors are ids of the listed objects, in lower case. Both bounds are exclusive. */
export interface PageRequest {
  /** From 1 to 1000. */
  readonly limit: number
  readonly before?: string | undefined
  readonly after?: string | undefined
}

/** The bounds of a page in a query: `above < id < below`, in `order`, at most `limit` rows. */
export interface PageBounds {
  readonly limit: number
  readonly above: string
  readonly below: string
  readonly order: 'newest-first' | 'oldest-first'
}

/** An empty page for a request that was already refused. The query still checks access. */
export const NO_PAGE: PageRequest = { limit: 0 }

/** The form of every object's id, in upper or lower case. */
export const ID_FORM = /^[0-9a-f]{24}$/i

/** The default lower bound of a page. It is less than every id. */
export const LOWEST = ''
/** The default upper bound: greater than every id, because ids are hexadecimal digits compared by byte. */
export const HIGHEST = 'g'

/**
 * Returns the bounds and order of a page. The order is reversed if `after` is given without `before`. Ids are compared by value,
 * so a cursor need not name an existing object (reference: Pagination).
 */
export function pageBounds({ limit, before, after }: PageRequest): PageBounds {
  return {
    limit,
    above: after ?? LOWEST,
    below: before ?? HIGHEST,
    order: after !== undefined && before === undefined ? 'oldest-first' : 'newest-first',
  }
}

/** The page of a list query that reads one row by its id. */
export const ONE_ROW: PageBounds = { limit: 1, above: LOWEST, below: HIGHEST, order: 'newest-first' }

/**
 * The limits of one statement that reads a list: its rows, and the entries that belong to them. They keep each statement short,
 * so that other requests do not wait long. If a chunk exceeds `bytes`, the next chunk has fewer rows.
 */
export const CHUNK = { rows: 100, entries: 500, bytes: 1_000_000 } as const

/** Waits for a slot of the client and then calls `read`. `size` is the number of rows or entries. */
export type InTurn = <T>(size: number, read: () => Promise<T>) => Promise<T>

/** Consecutive rows of a page. */
export interface Chunk<Row> {
  readonly rows: readonly Row[]
  /** Whether the page has more rows. */
  readonly isCut: boolean
}
