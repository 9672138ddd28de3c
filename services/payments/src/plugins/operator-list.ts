import { Readable } from 'node:stream'
import { toAnswerPiece } from '@trestle/common/server/answer-piece.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { writeCsv } from '../ledger/csv.ts'
import { HIGHEST, LOWEST, type PageBounds } from '../pagination/page-query.ts'
import { anyText } from '../requests/fields.ts'
import { ROWS_OF_OPERATOR } from './concurrency-limits.ts'

/** The lists of operators. A cursor contains the name of its list, so that it cannot be used with another list. */
export type OperatorList =
  | 'merchants'
  | 'lines'
  | 'events'
  | 'transactions'
  | 'disputes'
  | 'frauds'
  | 'payouts'
  | 'batches'
  | 'attempts'
  | 'exceptions'
  | 'deliveries'
  | 'apps'
  | 'audit'

/** The query of every list of operators (console reference: Lists of operators). */
interface OperatorListQuery {
  /** 1 to 100. */
  readonly limit: number
  readonly cursor?: string | undefined
  readonly order: 'asc' | 'desc'
}

/** Returns the schema of the query of an operator list. Each route adds its filters. */
export function operatorListQuery(list: OperatorList): z.ZodObject<{
  readonly limit: z.ZodDefault<z.ZodInt>
  readonly cursor: z.ZodOptional<z.ZodString>
  readonly order: z.ZodDefault<z.ZodEnum<{ asc: 'asc'; desc: 'desc' }>>
}> {
  return z.object({
    limit: z.int().min(1).max(100).default(25).describe('How many objects at most'),
    cursor: anyText()
      .refine((given) => parseCursor(list, given) !== undefined, {
        error: FIELD_TEXTS.notCursor,
        params: { code: 'FORMAT' },
      })
      .optional()
      .describe('Where the page begins, as the header Link of the page before gives it'),
    order: z.enum(['asc', 'desc']).default('desc').describe('Of creation; desc: newest first'),
  })
}

/** Returns the bounds of the page of a query. They include one extra row, which shows whether there is a next page. */
export function readOperatorPage(list: OperatorList, { limit, cursor, order }: OperatorListQuery): PageBounds {
  const id = cursor === undefined ? undefined : parseCursor(list, cursor)
  const page = { limit: limit + 1, above: LOWEST, below: HIGHEST }
  return order === 'desc'
    ? { ...page, below: id ?? HIGHEST, order: 'newest-first' }
    : { ...page, above: id ?? LOWEST, order: 'oldest-first' }
}

/** The rows read for a page. `cutAt`: more rows may follow this id, although the page has fewer than its limit. */
interface ShownPage<Row> extends Pick<OperatorListQuery, 'limit'> {
  readonly rows: readonly Row[]
  readonly cutAt?: string | undefined
}

/** Returns the rows of a page without the extra row. If there is a next page, names it in the header `Link` (RFC 8288). */
export function showOperatorPage<Row extends { readonly id: string }>(
  reply: FastifyReply,
  list: OperatorList,
  { limit, rows, cutAt }: ShownPage<Row>,
): readonly Row[] {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1)?.id : cutAt
  if (last !== undefined) {
    const next = new URL(reply.request.url, 'http://localhost')
    next.searchParams.set('cursor', formatCursor(list, last))
    reply.header('link', `<${next.pathname}${next.search}>; rel="next"`)
  }
  return shown
}

/** The maximum rows of a CSV file, and the rows read at a time: as many as one operator may read concurrently. */
const CSV_ROWS = { all: 10_000, chunk: ROWS_OF_OPERATOR } as const

interface CsvListing<Row extends { readonly id: string }> {
  readonly page: PageBounds
  readonly read: (page: PageBounds) => Promise<readonly Row[]>
  readonly view: (row: Row) => object
  /** Members of the view, in order, such as `reason.code`. They are also the header line. */
  readonly columns: readonly string[]
}

/**
 * Sends a list as CSV if the client prefers CSV. The file starts at the position of the page and has at most 10,000 rows. Each
 * chunk takes its own slots, and is read after the client has received the previous chunk. Returns `false`, without sending
 * anything, if the client does not prefer CSV.
 */
export async function answerAsCsv<Row extends { readonly id: string }>(
  request: FastifyRequest,
  reply: FastifyReply,
  listing: CsvListing<Row>,
): Promise<boolean> {
  reply.header('vary', 'accept')
  if (new Negotiator(request).mediaType(['application/json', 'text/csv']) !== 'text/csv') return false
  // Release the slots of the request, which cover the rows of one page. A file has more rows, so each chunk takes its own slots.
  request.slots?.[Symbol.dispose]()
  const chunks = readCsv(request, listing)
  // Read the first chunk before the response begins, so that an error still gets its own status.
  const first = await chunks.next()
  reply.liftDeadline()
  const lines = writeLines([writeCsv([listing.columns]), first.done === true ? '' : first.value], chunks)
  await reply.type('text/csv; charset=utf-8').send(Readable.from(lines))
  return true
}

async function* writeLines(first: readonly (string | Buffer)[], rest: AsyncIterable<Buffer>) {
  yield* first
  yield* rest
}

async function* readCsv<Row extends { readonly id: string }>(
  request: FastifyRequest,
  { page, read, view, columns }: CsvListing<Row>,
): AsyncGenerator<Buffer> {
  const bound = page.order === 'newest-first' ? 'below' : 'above'
  let place = page
  for (let rest = CSV_ROWS.all; rest > 0; rest -= CSV_ROWS.chunk) {
    const limit = Math.min(rest, CSV_ROWS.chunk)
    const chunk = await request.withSlots(limit, async () => {
      const rows = await read({ ...place, limit })
      const lines = rows.map(view).map((row) => writeCsv([columns.map((column) => toCell(row, column))]))
      return { bytes: toAnswerPiece(lines), last: rows[limit - 1] }
    })
    yield chunk.bytes
    if (chunk.last === undefined) return
    place = { ...place, [bound]: chunk.last.id }
  }
}

function toCell(row: object, column: string): string | { readonly text: string } {
  const value = column.split('.').reduce<unknown>(memberOf, row)
  if (value === undefined) return ''
  return typeof value === 'string' ? { text: value } : String(value)
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? new Map<string, unknown>(Object.entries(value)).get(name)
    : undefined
}

/** The 200 response of a list in JSON or CSV. Its type is `unknown`, because rows are sent without conversion. */
export function listOrCsv(schema: z.ZodType): { readonly 200: unknown } {
  const content = { 'application/json': { schema }, 'text/csv': { schema: z.string() } }
  return { 200: { description: 'A page, or CSV with a header line', content } }
}

/** Formats a cursor in base64url. It needs no signature, because it reveals only an id that the page has shown. */
function formatCursor(list: OperatorList, id: string): string {
  return Buffer.from(`${list} ${id}`).toString('base64url')
}

const CURSOR = /^([a-z]+) ([0-9a-f]{24})$/

function parseCursor(list: OperatorList, cursor: string): string | undefined {
  const [, of, id] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  return of === list ? id : undefined
}
