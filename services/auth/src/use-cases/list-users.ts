import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { type Cursor, ROWS_MAX } from '../pagination/page-query.ts'
import { readTypedPhone, type TypedPhone } from '../requests/fields.ts'
import type { UserListRequest } from '../users/admin-user-request.ts'
import type { Profile } from '../users/profile-repository.ts'
import {
  countUsers,
  findUserIdsByExactId,
  listBriefProfiles,
  listProfiles,
  type UserList,
} from '../users/user-list-repository.ts'
import { findIdentifierOwner } from '../users/user-repository.ts'

/** A page of the list. By page number it has the total, and by cursor the next cursor, if there is one. */
export interface ListedUsers {
  /** The first users of the page, at most 1,000. */
  readonly users: readonly Profile[]
  /** The other users of the page, in parts. */
  readonly rest: AsyncIterable<readonly Profile[]> | undefined
  readonly total: number | undefined
  readonly next: Cursor | undefined
}

/** Lists users, newest first by default (reference: Lists of users). A cursor costs the same at any position. */
export async function listUsers(
  { db }: { readonly db: Db },
  { audience, request }: { readonly audience: string; readonly request: UserListRequest },
): Promise<ListedUsers> {
  const { perPage, filter, direction } = request
  const list = { audience, filter, direction }
  if (request.form === 'page') {
    const [offset, limit] = [(request.page - 1) * perPage, Math.min(perPage, ROWS_MAX)]
    const users = await listProfiles(db, { ...list, limit, offset, after: undefined })
    const rest = perPage > ROWS_MAX ? listRest(db, list, users, perPage - ROWS_MAX) : undefined
    return { users, rest, total: await countUsers(db, list), next: undefined }
  }
  const found = await listProfiles(db, { ...list, limit: perPage + 1, offset: 0, after: request.after })
  const users = found.slice(0, perPage)
  return { users, rest: undefined, total: undefined, next: found.length > perPage ? cursorOf(users) : undefined }
}

/** Each part begins after the last user of the previous part, so that new users do not shift the list. */
async function* listRest(
  db: Db,
  list: Pick<UserList, 'audience' | 'filter' | 'direction'>,
  first: readonly Profile[],
  count: number,
): AsyncGenerator<readonly Profile[]> {
  let [after, left] = [first.length < ROWS_MAX ? undefined : cursorOf(first), count]
  while (after !== undefined && left > 0) {
    const limit = Math.min(left, ROWS_MAX)
    const users = await listProfiles(db, { ...list, limit, offset: 0, after })
    yield users
    after = users.length < limit ? undefined : cursorOf(users)
    left -= limit
  }
}

function cursorOf(users: readonly Profile[]): Cursor | undefined {
  const last = users.at(-1)?.user
  return last && { createdAt: last.createdAt, id: last.id }
}

interface SearchUsersInput extends Pick<UserList, 'direction' | 'limit' | 'after'> {
  /**
   * The beginning of an email, a phone or a full name (ignoring case), an id, or the subject of an identity at a provider.
   * `undefined` to list all users.
   */
  readonly search: string | undefined
}

/** Searches users. Pending sign-ups, metadata and claims of identities are left out (console reference: Users in lists). */
export async function searchUsers(
  { config, db }: { readonly config: AuthConfig; readonly db: Db },
  { search, ...page }: SearchUsersInput,
): Promise<readonly Profile[]> {
  const list = { ...page, audience: undefined, offset: 0 }
  if (search === undefined) return listBriefProfiles(db, { ...list, filter: undefined })
  const typed = readSearchedPhone(search)
  const filter = typed?.digits ?? search
  const parsed = config.compatibility.parsePhones ? typed?.parsed : undefined
  const owner = parsed && (await findIdentifierOwner(db, { kind: 'phone', value: parsed }))
  const foundIds = [...(await findUserIdsByExactId(db, search)), ...(owner ? [owner.id] : [])]
  return listBriefProfiles(db, { ...list, filter, atBeginning: true, foundIds })
}

/**
 * Reads a phone number in usual notations. With `+`, it may have any form that a request accepts. Without `+`, only digits count,
 * because an email may begin with digits and dots. Users are found by the digits and by the parsed number.
 */
function readSearchedPhone(search: string): TypedPhone | undefined {
  const code = /^\+([1-9])$/.exec(search)?.[1]
  if (code !== undefined) return { digits: code, parsed: undefined }
  return /^[+＋]/.test(search) ? readTypedPhone(search) : undefined
}
