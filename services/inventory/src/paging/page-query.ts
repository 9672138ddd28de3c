import { z } from 'zod'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { pageLinks } from './page-links.ts'

export interface PageLimits {
  /** Rows of a page when the request does not say. */
  readonly defaultLimit: number
  readonly maxLimit: number
}

/** The query of a list: `limit` and `cursor`, nothing else. A cursor of another list is refused. */
export function pageQuery(path: string, { defaultLimit, maxLimit }: PageLimits) {
  const limit = z
    .string({ error: 'must be given once' })
    .refine((text) => /^[1-9]\d{0,8}$/.test(text) && Number(text) <= maxLimit, {
      error: `must be a whole number between 1 and ${maxLimit}`,
    })
    .meta({ type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit, description: 'Rows of a page' })
    .transform(Number)
  const cursor = z
    .string({ error: 'must be given once' })
    .meta({ description: 'Where the page begins, from the Link header of the page before' })
    .transform((text, context) => {
      const lastId = decodeCursor(path, text)
      if (lastId !== undefined) return lastId
      context.addIssue({ code: 'custom', message: 'must come from the Link header of a page of this list' })
      return z.NEVER
    })
  return z.strictObject({ limit: limit.default(defaultLimit), cursor: cursor.default(0) })
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
