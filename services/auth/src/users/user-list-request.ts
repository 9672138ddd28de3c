import { type Cursor, parseCursor } from '../pagination/cursor.ts'
import { type Page, type PageRules, parsePage, parsePerPage } from '../pagination/page-query.ts'
import { sortMalformed } from '../request-errors.ts'

/** The query of `GET /admin/users`, as it comes. Nothing of it has been checked. */
export interface UserListFields {
  readonly page?: string | undefined
  readonly per_page?: string | undefined
  readonly cursor?: string | undefined
  readonly filter?: string | undefined
  readonly sort?: string | undefined
}

/** A page of the list: by its number and with a total, or by a cursor and without a total. */
export type UserListRequest = {
  readonly filter: string | undefined
  readonly direction: 'asc' | 'desc'
  readonly perPage: number
} & (
  | ({ readonly form: 'page' } & Page)
  /** Undefined at the beginning of the list. */
  | { readonly form: 'cursor'; readonly after: Cursor | undefined }
)

/**
 * Parses the query of a list of users (reference: Lists of users).
 * @param form `cursor` where the query has the parameter `cursor`, even an empty one
 * @param rules of pages by number
 * @throws sortMalformed, pageOutOfRange, cursorMalformed
 */
export function parseUserList(
  fields: UserListFields,
  form: UserListRequest['form'],
  rules?: PageRules,
): UserListRequest {
  const list = { filter: fields.filter, direction: parseSort(fields.sort) }
  if (form === 'page') return { ...list, form, ...parsePage(fields, rules) }
  const after = fields.cursor === undefined ? undefined : parseCursor(fields.cursor)
  return { ...list, form, perPage: parsePerPage(fields), after }
}

function parseSort(sort: string | undefined): 'asc' | 'desc' {
  const direction = /^created_at(?: (asc|desc))?$/i.exec(sort ?? 'created_at')
  if (direction === null) throw sortMalformed({ sort })
  return direction[1]?.toLowerCase() === 'asc' ? 'asc' : 'desc'
}
