import type { Db } from '../database.ts'
import { type Cursor, ROWS_MAX } from '../pagination/page-query.ts'
import type { UserListRequest } from '../users/admin-user-request.ts'
import type { Profile } from '../users/profile-repository.ts'
import { countUsers, listProfiles, type UserList } from '../users/user-list-repository.ts'

/** A page of the list: with the total in the page form, or with the next cursor, if any, in the cursor form. */
export interface ListedUsers {
  /** At most the first 1,000 of the page. */
  readonly users: readonly Profile[]
  /** The other users of the page, some at a time. */
  readonly rest: AsyncIterable<readonly Profile[]> | undefined
  readonly total: number | undefined
  readonly next: Cursor | undefined
}

/** Lists users, by default newest first (reference: Lists of users). A cursor costs the same at any depth. */
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

/** Each piece begins after the last user of the piece before it, so that a user who is made meanwhile moves no other. */
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
