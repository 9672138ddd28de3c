import { z } from 'zod'
import { type Cursor, formatCursor, parseCursor, refuseCursor } from '../pagination/cursor.ts'
import { parseCount } from '../pagination/page-query.ts'

/** The lists of operators. A cursor names its list, so that a page of one list never begins by a row of another. */
export type OperatorList = 'users' | 'sessions' | 'audit'

const ROWS_DEFAULT = 25
const ROWS_MAX = 100

/** What every list of operators is asked with (console reference: Lists of operators). Each route adds its filters. */
export const operatorListFields = {
  limit: z.string().optional().meta({
    type: 'integer',
    minimum: 1,
    maximum: ROWS_MAX,
    default: ROWS_DEFAULT,
    description: 'How many entries at most',
  }),
  cursor: z
    .string()
    .optional()
    .meta({ description: 'Where the page begins, as the header Link of the page before gives it' }),
  order: z.enum(['asc', 'desc']).default('desc').meta({ description: 'Of creation; desc: newest first' }),
}

interface OperatorListFields {
  readonly limit?: string | undefined
  readonly cursor?: string | undefined
  readonly order: 'asc' | 'desc'
}

/** A page of a list of operators. */
export interface OperatorPage {
  readonly list: OperatorList
  /** One row more than the page shows: the row says that there is a next page. */
  readonly limit: number
  readonly direction: 'asc' | 'desc'
  readonly after: Cursor | undefined
}

/** The page that a query asks for. @throws pageOutOfRange, cursorMalformed also for the cursor of another list */
export function readOperatorPage(list: OperatorList, { limit, cursor, order }: OperatorListFields): OperatorPage {
  const rows = parseCount('limit', limit, { usual: ROWS_DEFAULT, max: ROWS_MAX })
  return { list, limit: rows + 1, direction: order, after: cursor === undefined ? undefined : readCursor(list, cursor) }
}

function readCursor(list: OperatorList, text: string): Cursor {
  const [name, cursor = ''] = text.split('.', 2)
  return name === list ? parseCursor(cursor) : refuseCursor()
}

/** The rows that a page shows, and the cursor of the next page; undefined where there is none. */
export function showOperatorPage<Row>(
  { list, limit }: OperatorPage,
  rows: readonly Row[],
  placeOf: (row: Row) => Cursor,
): { readonly shown: readonly Row[]; readonly next: string | undefined } {
  const shown = rows.slice(0, limit - 1)
  const last = rows.length === limit ? shown.at(-1) : undefined
  return { shown, next: last && `${list}.${formatCursor(placeOf(last))}` }
}
