import { p } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { invalid } from '../error-vocabulary.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
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

/**
 * How many rows a request wants, and behind which id.
 * @throws validationError for too many, and for a cursor of another list
 */
export function readPage(path: string, limits: PageLimits, { limit = limits.defaultLimit, cursor }: PageKeywords) {
  if (limit > limits.maxLimit) throw invalid([{ path: 'limit', message: `must be at most ${limits.maxLimit}` }])
  const after = cursor === undefined ? 0 : decodeCursor(path, cursor)
  if (after !== undefined) return { limit, after }
  throw invalid([{ path: 'cursor', message: 'must come from the Link header of a page of this list' }])
}

export interface Page<T> {
  readonly rows: readonly T[]
  /** The header `Link`. */
  readonly link: string
}

/** Cuts a page out of rows that were read one further than `limit`, and links to the next page when there was one more. */
export function cutPage<T extends { readonly id: number }>(
  path: string,
  { limit, defaultLimit }: { readonly limit: number; readonly defaultLimit: number },
  rowsAndOne: readonly T[],
): Page<T> {
  const rows = rowsAndOne.slice(0, limit)
  const last = rows.at(-1)
  const next = rowsAndOne.length > limit && last ? encodeCursor(path, last.id) : undefined
  return { rows, link: pageLinks(path, limit === defaultLimit ? {} : { limit: String(limit) }, next) }
}
