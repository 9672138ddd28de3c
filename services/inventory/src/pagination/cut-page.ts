import { encodeCursor, type Position } from './cursor.ts'
import { type Listing, nameOfListing } from './page-query.ts'

/** Parameters of a request by name, as they were sent. */
type Query = Readonly<Record<string, unknown>>

/** The rows of a page, with the links of its answer. */
export interface Page<T> {
  readonly rows: readonly T[]
  /** The header `Link` (RFC 8288): `first` always, `next` only when more rows exist. */
  readonly link: string
}

/**
 * Cuts a page out of rows that were read with one row more than `limit`. The extra row says that there is a next page.
 * @param query of the request; the links repeat it
 */
export function cutPage<T>(
  listing: Listing,
  { limit, query }: { readonly limit: number; readonly query: Query },
  rowsAndOne: readonly T[],
  positionOf: (row: T) => Position,
): Page<T> {
  const rows = rowsAndOne.slice(0, limit)
  const last = rows.at(-1)
  const { cursor: _, ...repeated } = query
  const links = [`<${withQuery(listing.path, repeated)}>; rel="first"`]
  if (rowsAndOne.length > limit && last !== undefined) {
    const cursor = encodeCursor(nameOfListing(listing), positionOf(last))
    links.unshift(`<${withQuery(listing.path, { ...repeated, cursor })}>; rel="next"`)
  }
  return { rows, link: links.join(', ') }
}

function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
  const text = new URLSearchParams(pairs).toString()
  return text === '' ? path : `${path}?${text}`
}
