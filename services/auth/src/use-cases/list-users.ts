import type { AuthDeps } from '../deps.ts'
import type { Cursor } from '../pagination/page-query.ts'
import type { Profile } from '../users/profile-repository.ts'
import { countUsers, listProfiles } from '../users/user-list-repository.ts'
import type { UserListRequest } from '../users/user-list-request.ts'

/** A page of the list: with the total in the page form, or with the next cursor, if any, in the cursor form. */
export interface ListedUsers {
  readonly users: readonly Profile[]
  readonly total: number | undefined
  readonly next: Cursor | undefined
}

/** Lists users, by default newest first (reference: Lists of users). A cursor costs the same at any depth. */
export async function listUsers(
  { db }: Pick<AuthDeps, 'db'>,
  audience: string,
  request: UserListRequest,
): Promise<ListedUsers> {
  const { perPage, filter, direction } = request
  const list = { audience, filter, direction }
  if (request.form === 'page') {
    const offset = (request.page - 1) * perPage
    const users = await listProfiles(db, { ...list, limit: perPage, offset, after: undefined })
    return { users, total: await countUsers(db, list), next: undefined }
  }
  const found = await listProfiles(db, { ...list, limit: perPage + 1, offset: 0, after: request.after })
  const users = found.slice(0, perPage)
  const last = found.length > perPage ? users.at(-1)?.user : undefined
  return { users, total: undefined, next: last && { createdAt: last.createdAt, id: last.id } }
}
