import type { ConcurrencyLimitOptions } from '@trestle/common/capacity/concurrency-limit.ts'
import { pathOf } from '@trestle/common/telemetry/path-of.ts'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { serverBusy } from '../errors.ts'
import {
  type Cursor,
  cursorLink,
  formatCursor,
  parseCount,
  parseCursor,
  refuseCursor,
} from '../pagination/page-query.ts'

/** The lists of operators. A cursor names its list, so that it cannot be used for another list. */
export type OperatorList = 'users' | 'sessions' | 'audit' | 'messages'

/**
 * How many pages operators may read and changes they may make at the same time, in total and each. Searches may read many rows,
 * changes may wait for a user row, and sign-ins need the other connections.
 */
export const OPERATOR_LIMIT: ConcurrencyLimitOptions = {
  slots: 4,
  each: 2,
  clientOf: ({ operator }) => operator.actor.id,
  // The routes of lists reserve their slots themselves.
  sizeOf: ({ method }) => (method === 'GET' || method === 'HEAD' ? undefined : 1),
  refuse: serverBusy,
}

const ROWS_DEFAULT = 25
const ROWS_MAX = 100

/** The query fields of all lists of operators (console reference: Lists of operators). Routes add filters. */
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

export interface OperatorPage {
  readonly list: OperatorList
  /** One more than the page size. The additional row shows that there is a next page. */
  readonly limit: number
  readonly direction: 'asc' | 'desc'
  readonly after: Cursor | undefined
}

export function readOperatorPage(list: OperatorList, { limit, cursor, order }: OperatorListFields): OperatorPage {
  const rows = parseCount('limit', limit, { usual: ROWS_DEFAULT, max: ROWS_MAX })
  return { list, limit: rows + 1, direction: order, after: cursor === undefined ? undefined : readCursor(list, cursor) }
}

function readCursor(list: OperatorList, text: string): Cursor {
  const [name, cursor = ''] = text.split('.', 2)
  return name === list ? parseCursor(cursor) : refuseCursor()
}

const Query = z.record(z.string(), z.string())

/** Returns the rows of the page. The header `Link` names the next page, if there is one (RFC 8288). */
export function showOperatorPage<Row>(
  reply: FastifyReply,
  { list, limit }: OperatorPage,
  { rows, placeOf }: { readonly rows: readonly Row[]; readonly placeOf: (row: Row) => Cursor },
): readonly Row[] {
  const shown = rows.slice(0, limit - 1)
  const last = rows.length === limit ? shown.at(-1) : undefined
  if (last !== undefined) {
    const { url, query } = reply.request
    const cursor = `${list}.${formatCursor(placeOf(last))}`
    reply.header('link', cursorLink(pathOf(url), { ...Query.parse(query), cursor }))
  }
  return shown
}
