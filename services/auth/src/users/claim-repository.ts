import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { User } from './user.ts'

/**
 * Whether an account is nobody's yet. Then what is in it may be a stranger's who has used the address of somebody else, and
 * whoever confirms the address takes the account over; an account that is claimed keeps what it has, whatever becomes of its
 * addresses. It is claimed for good by its first confirmation, by an admin who makes it, and by a provider that makes it
 * without an address, which nobody else could confirm.
 * @param user as they were before the confirmation
 */
export async function isUnclaimed(
  db: Kysely<AuthDatabase>,
  { id, confirmedAt }: Pick<User, 'id' | 'confirmedAt'>,
): Promise<boolean> {
  if (confirmedAt !== null) return false
  const row = await db.selectFrom('users').select('claimed_at').where('id', '=', id).executeTakeFirst()
  return row !== undefined && row.claimed_at === null
}
