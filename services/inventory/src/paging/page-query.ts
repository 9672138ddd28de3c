import { p } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { invalid } from '../error-vocabulary.ts'
import { decodeCursor, encodeCursor, type Position } from './cursor.ts'
import { pageLinks } from './page-links.ts'

export interface PageLimits {
  /** Rows of a page when the request does not say. */
  readonly defaultLimit: number
  readonly maxLimit: number
}

/** The keywords of every list. */
export const PageKeywords = z.object({
  limit: p.int({ min: 1 }).optional().meta({ description: 'Rows of a page' }),
  cursor: z
    .string({ error: 'must be given once' })
    .optional()
    .meta({ description: 'Where the page begins, from the Link header of the page before' }),
})
export type PageKeywords = z.output<typeof PageKeywords>

/** What a value of a position looks like; a regular expression is one. */
export interface PositionForm {
  test(value: string): boolean
}

/** A list as a request wants it: what tells it from others, and the form of the positions in it. */
export interface Listing {
  readonly path: string
  /** Sort and filters, as one text. */
  readonly selection?: string
  /** What each value of a position looks like; a cursor can be made by anyone. */
  readonly positionForms: readonly PositionForm[]
}

/** The listing that is ordered by id. */
export function listingById(path: string): Listing {
  return { path, positionForms: [ID_FORM] }
}

/** An id, as a value of a position. */
export const ID_FORM = /^[1-9]\d{0,15}$/

/** The rows that a request wants: how many, and behind which position. */
export interface PageWish {
  readonly limit: number
  /** Undefined on the first page. */
  readonly after: Position | undefined
}

/** @throws validationError for too many rows, and for a cursor of another list */
export function readPage(listing: Listing, limits: PageLimits, keywords: PageKeywords): PageWish {
  const { limit = limits.defaultLimit, cursor } = keywords
  if (limit > limits.maxLimit) throw invalid([{ path: 'limit', message: `must be at most ${limits.maxLimit}` }])
  if (cursor === undefined) return { limit, after: undefined }
  const after = decodeCursor(nameOf(listing), cursor)
  const { positionForms } = listing
  if (after?.length === positionForms.length && positionForms.every((form, at) => form.test(after[at] ?? ''))) {
    return { limit, after }
  }
  throw invalid([{ path: 'cursor', message: 'must come from the Link header of a page of this list' }])
}

function nameOf({ path, selection }: Listing): string {
  return selection === undefined ? path : `${path}?${selection}`
}

export interface Page<T> {
  readonly rows: readonly T[]
  /** The header `Link`. */
  readonly link: string
}

/**
 * Cuts a page out of rows that were read one further than `limit`, and links to the next page when there was one more.
 * @param query of the request, which the links repeat
 */
export function cutPage<T>(
  listing: Listing,
  { limit, query }: { readonly limit: number; readonly query: Readonly<Record<string, unknown>> },
  rowsAndOne: readonly T[],
  positionOf: (row: T) => Position,
): Page<T> {
  const rows = rowsAndOne.slice(0, limit)
  const last = rows.at(-1)
  const next =
    rowsAndOne.length > limit && last !== undefined ? encodeCursor(nameOf(listing), positionOf(last)) : undefined
  const { cursor: _, ...repeated } = query
  return { rows, link: pageLinks(listing.path, repeated, next) }
}

/** The position of a row in a list by id. */
export function positionById({ id }: { readonly id: number }): Position {
  return [String(id)]
}
