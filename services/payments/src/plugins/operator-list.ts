import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { HIGHEST, LOWEST, type PageBounds } from '../pagination/page-query.ts'
import { text } from '../requests/fields.ts'

/** The lists of operators. A cursor names its list, so that a page of one list never begins by a row of another. */
export type OperatorList = 'merchants' | 'transactions'

/** What every list of operators is asked with (console reference: Lists of operators). */
interface OperatorListQuery {
  /** 1 to 100. */
  readonly limit: number
  readonly cursor?: string | undefined
  readonly order: 'asc' | 'desc'
}

/** The query of a list of operators. Each route adds its filters. */
export function operatorListQuery(list: OperatorList): z.ZodObject<{
  readonly limit: z.ZodDefault<z.ZodInt>
  readonly cursor: z.ZodOptional<z.ZodString>
  readonly order: z.ZodDefault<z.ZodEnum<{ asc: 'asc'; desc: 'desc' }>>
}> {
  return z.object({
    limit: z.int().min(1).max(100).default(25).describe('How many objects at most'),
    cursor: text()
      .refine((given) => parseCursor(list, given) !== undefined, {
        error: FIELD_TEXTS.notCursor,
        params: { code: 'FORMAT' },
      })
      .optional()
      .describe('Where the page begins, as the header Link of the page before gives it'),
    order: z.enum(['asc', 'desc']).default('desc').describe('Of creation; desc: newest first'),
  })
}

/** The page of a query, with one row more than it shows: the row says that there is a next page. */
export function operatorPage(list: OperatorList, { limit, cursor, order }: OperatorListQuery): PageBounds {
  const id = cursor === undefined ? undefined : parseCursor(list, cursor)
  const page = { limit: limit + 1, above: LOWEST, below: HIGHEST }
  return order === 'desc'
    ? { ...page, below: id ?? HIGHEST, order: 'newest-first' }
    : { ...page, above: id ?? LOWEST, order: 'oldest-first' }
}

/** The rows that a page shows. Names the next page in the header `Link` (RFC 8288) when there is one. */
export function showOperatorPage<Row extends { readonly id: string }>(
  reply: FastifyReply,
  list: OperatorList,
  { limit, rows }: Pick<OperatorListQuery, 'limit'> & { readonly rows: readonly Row[] },
): readonly Row[] {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  if (last !== undefined && rows.length > limit) {
    const next = new URL(reply.request.url, 'http://localhost')
    next.searchParams.set('cursor', formatCursor(list, last.id))
    reply.header('link', `<${next.pathname}${next.search}>; rel="next"`)
  }
  return shown
}

/** Base64url, without a signature: a cursor tells only an id that the page has shown. */
function formatCursor(list: OperatorList, id: string): string {
  return Buffer.from(`${list} ${id}`).toString('base64url')
}

const CURSOR = /^([a-z]+) ([0-9a-f]{24})$/

function parseCursor(list: OperatorList, cursor: string): string | undefined {
  const [, of, id] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  return of === list ? id : undefined
}
