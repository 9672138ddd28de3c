import { encodeCursor, type Position } from './cursor.ts'
import { type Listing, nameOfListing } from './page-query.ts'

/** The rows of a page, and the cursor of the next page. */
export interface Page<T> {
  readonly rows: readonly T[]
  /** Undefined on the last page. */
  readonly next: string | undefined
}

/** Cuts a page out of rows that were read with one row more than `limit`. The extra row says that there is a next page. */
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

/** Parameters of a request by name, as they were sent. */
type Query = Readonly<Record<string, unknown>>

/** The pages that an answer links to. */
interface LinkedPages {
  readonly path: string
  /** The query of the request. The links repeat it. */
  readonly query: Query
  /** The cursor of the next page. */
  readonly next: string | undefined
}

/** The header `Link` of a page (RFC 8288): `first` always, `next` only where there is a next page. */
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
