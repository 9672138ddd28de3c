import { z } from 'zod'
import type { Timestamp } from '../records/timestamp.ts'
import { cursorMalformed, pageOutOfRange } from '../request-errors.ts'

export interface Page {
  /** From 1. */
  readonly page: number
  readonly perPage: number
}

/** The default number of rows on a page. */
export const ROWS_DEFAULT = 50
export const ROWS_MAX = 1_000
export const PAGE_NUMBER_MAX = 1_000_000_000

export const pageFields = {
  page: z
    .string()
    .optional()
    .meta({ type: 'integer', minimum: 1, maximum: PAGE_NUMBER_MAX, default: 1, description: 'The number of the page' }),
  per_page: z.string().optional().meta({
    type: 'integer',
    minimum: 1,
    maximum: ROWS_MAX,
    default: ROWS_DEFAULT,
    description: 'How many entries a page has',
  }),
}

interface PageFields {
  readonly page?: string | undefined
  readonly per_page?: string | undefined
}

export interface PageRules {
  readonly rowsMax: number
  /** Whether page 0 means page 1. */
  readonly zeroIsFirst: boolean
}

const USUAL_RULES: PageRules = { rowsMax: ROWS_MAX, zeroIsFirst: false }

export function parsePage(fields: PageFields, rules = USUAL_RULES): Page {
  const isFirst = rules.zeroIsFirst && /^0{1,10}$/.test(fields.page ?? '')
  const page = isFirst ? 1 : parseCount('page', fields.page, { usual: 1, max: PAGE_NUMBER_MAX })
  return { page, perPage: parsePerPage(fields, rules) }
}

export function parsePerPage({ per_page: perPage }: PageFields, { rowsMax } = USUAL_RULES): number {
  return parseCount('per_page', perPage, { usual: ROWS_DEFAULT, max: rowsMax })
}

/** Parses a number in a query, or returns `usual` if it is absent. */
export function parseCount(
  name: string,
  text: string | undefined,
  { usual, max }: { usual: number; max: number },
): number {
  if (text === undefined) return usual
  const count = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= max) return count
  throw pageOutOfRange({ name, max })
}

/** A page of a list with a total. The header `Link` names other pages. */
export interface LinkedPage extends Page {
  readonly path: string
  readonly total: number
  /** Other query parameters, the same for every page. */
  readonly query: Readonly<Record<string, string | undefined>>
}

/** The headers of a page: the total number of rows, and links to other pages. */
export function pageHeaders(page: LinkedPage): Record<string, string> {
  return { 'x-total-count': String(page.total), link: pageLinks(page) }
}

/** The header `Link` of a list with cursors. */
export function cursorLink(path: string, query: LinkedPage['query'] & { readonly cursor: string }): string {
  return toLink(path, query, 'next')
}

/**
 * The header `Link` (RFC 8288) of a page: `next` if it exists, and `last`. Clients split it at every `,`, `;` and `=`, so `page`
 * comes first and values are percent-encoded (reference: Lists of users).
 */
function pageLinks({ path, page, perPage, total, query }: LinkedPage): string {
  const last = Math.max(1, Math.ceil(total / perPage))
  const link = (number: number, relation: string) =>
    toLink(path, { page: String(number), per_page: String(perPage), ...query }, relation)
  return [...(page < last ? [link(page + 1, 'next')] : []), link(last, 'last')].join(', ')
}

function toLink(path: string, query: LinkedPage['query'], relation: string): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return `<${path}?${pairs.join('&')}>; rel="${relation}"`
}

/** A position after this row, in a list ordered by creation. */
export interface Cursor {
  readonly createdAt: Timestamp
  readonly id: string
}

const CURSOR = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** Formats a cursor as base64url. It needs no signature, because it contains only values of a shown row. */
export function formatCursor({ createdAt, id }: Cursor): string {
  return Buffer.from(`${createdAt} ${id}`).toString('base64url')
}

export function parseCursor(text: string): Cursor {
  const [, createdAt, id] = CURSOR.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (createdAt === undefined || id === undefined || !isOfCalendar(createdAt)) refuseCursor()
  return { createdAt, id }
}

export function refuseCursor(): never {
  throw cursorMalformed()
}

/** Whether a time exists. PostgreSQL refuses February 30, but `Date` converts it to a day in March. */
function isOfCalendar(timestamp: Timestamp): boolean {
  const ms = Date.parse(timestamp)
  return !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, -1) === timestamp.slice(0, -'000+00:00'.length)
}
