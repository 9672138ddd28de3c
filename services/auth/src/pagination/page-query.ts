import { z } from 'zod'
import { pageOutOfRange } from '../request-errors.ts'

/** The page that a client asks for. */
export interface Page {
  /** From 1. */
  readonly page: number
  readonly perPage: number
}

/** How many rows a page has, unless the query says another number. */
export const ROWS_DEFAULT = 50
/** How many rows a page may have. */
export const ROWS_MAX = 1_000
/** The greatest number that a page may have. */
export const PAGE_NUMBER_MAX = 1_000_000_000

/** The parameters of a query that asks for a page. */
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

/** The bounds of the pages of a list. */
export interface PageRules {
  readonly rowsMax: number
  /** Whether page 0 is page 1. */
  readonly zeroIsFirst: boolean
}

const USUAL_RULES: PageRules = { rowsMax: ROWS_MAX, zeroIsFirst: false }

/** The page that a query asks for, counted from 1. @throws pageOutOfRange */
export function parsePage(fields: PageFields, rules = USUAL_RULES): Page {
  const isFirst = rules.zeroIsFirst && /^0{1,10}$/.test(fields.page ?? '')
  const page = isFirst ? 1 : parseCount('page', fields.page, { usual: 1, max: PAGE_NUMBER_MAX })
  return { page, perPage: parsePerPage(fields, rules) }
}

/** How many rows a page has, within the bounds of the list. @throws pageOutOfRange */
export function parsePerPage({ per_page: perPage }: PageFields, { rowsMax } = USUAL_RULES): number {
  return parseCount('per_page', perPage, { usual: ROWS_DEFAULT, max: rowsMax })
}

/** Parses a number of a query. `usual` where it is absent. @throws pageOutOfRange beyond 1 to `max` */
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
