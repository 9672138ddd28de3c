import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { Identity } from '../identities/identity.ts'
import { toIdentity } from '../identities/identity-repository.ts'
import type { Timestamp } from './timestamp.ts'
import type { User } from './user.ts'
import { toUser } from './user-repository.ts'

export interface UserWithIdentities {
  readonly user: User
  /** Since when the account is somebody's, see `claim-repository.ts`. */
  readonly claimedAt: Timestamp | null
  /** Oldest first. */
  readonly identities: readonly Identity[]
}

/** A page of all users by id: neither rows that wait for a first code, nor deleted ones. */
export async function listUsersWithIdentities(
  db: Kysely<AuthDatabase>,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<UserWithIdentities[]> {
  const users = await db
    .selectFrom('users')
    .selectAll()
    .where('staged_at', 'is', null)
    .where('deleted_at', 'is', null)
    .$if(after !== undefined, (query) => query.where('id', '>', after ?? ''))
    .orderBy('id')
    .limit(limit)
    .execute()
  const ids = users.map(({ id }) => id)
  if (ids.length === 0) return []
  const identities = await db
    .selectFrom('identities')
    .selectAll()
    .where('user_id', 'in', ids)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const byUser = Map.groupBy(identities.map(toIdentity), ({ userId }) => userId)
  return users.map((row) => ({
    user: toUser(row),
    claimedAt: row.claimed_at,
    identities: byUser.get(row.id) ?? [],
  }))
}
