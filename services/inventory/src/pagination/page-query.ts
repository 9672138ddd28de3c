import { p } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { cursorForeign, limitTooHigh } from '../request-errors.ts'
import { decodeCursor, type Position } from './cursor.ts'

/** How many rows a page of a list has. */
export interface PageLimits {
  /** Rows of a page when the request names no limit. */
  readonly defaultLimit: number
  readonly limitMax: number
}

/** The API document says the limit of the settings by default. */
const LIMIT_MAX_DEFAULT = 500

/** The keywords of every list. */
export const PageKeywords = z.object({
  limit: p.int({ min: 1 }).optional().meta({ description: 'How many rows a page has', maximum: LIMIT_MAX_DEFAULT }),
  cursor: z.string({ error: FIELD_TEXTS.givenTwice }).optional().meta({
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'Where the page begins, from the Link header of the page before',
  }),
})
/** The parameters of a list that every list has. */
export type PageKeywords = z.output<typeof PageKeywords>

/** Tells whether a text can be a value of a position. A regular expression is one. */
export interface PositionForm {
  test(value: string): boolean
}

/** A list as a request asks for it. */
export interface Listing {
  readonly path: string
  /** Sort and filters, as one text. */
  readonly selection?: string | undefined
  /** The form of each value of a position. Anyone can make up a cursor, so its values are checked. */
  readonly positionForms: readonly PositionForm[]
}

/** A list that is ordered by id. */
export function listingById(path: string): Listing {
  return { path, positionForms: [ID_FORM] }
}

/** The form of an id as a value of a position: up to 16 digits, and no zero first. */
export const ID_FORM = /^[1-9]\d{0,15}$/

/** The position of a row in a list by id, for the cursor of the next page. */
export function positionById({ id }: { readonly id: number }): Position {
  return [String(id)]
}

/** The rows that a request asks for. */
export interface PageQuery {
  readonly limit: number
  /** The position that the page comes after; undefined on the first page. */
  readonly after: Position | undefined
}

/** The rows that a query asks for. @throws limitTooHigh for too many rows, cursorForeign for a cursor of another list */
export function readPage(listing: Listing, limits: PageLimits, keywords: PageKeywords): PageQuery {
  const { limit = limits.defaultLimit, cursor } = keywords
  if (limit > limits.limitMax) throw limitTooHigh(limits.limitMax)
  if (cursor === undefined) return { limit, after: undefined }
  const after = decodeCursor(nameOfListing(listing), cursor)
  const { positionForms } = listing
  if (after?.length === positionForms.length && positionForms.every((form, at) => form.test(after[at] ?? ''))) {
    return { limit, after }
  }
  throw cursorForeign()
}

/** A text that tells a list from other lists. Cursors are bound to it. */
export function nameOfListing({ path, selection }: Listing): string {
  return selection === undefined ? path : `${path}?${selection}`
}
