import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import { userNotFound } from '../errors.ts'
import { isStaged, type User } from '../users/user.ts'
import { lockUserById } from '../users/user-repository.ts'

/** Whom an admin means. */
export interface ManagedUser {
  readonly userId: string
  /** The header X-JWT-AUD: users of another audience are not found then (reference: Audience). Undefined finds any. */
  readonly audience: string | undefined
}

/** Locks the user whom an admin means; a deleted one too, but none that is staged. @throws userNotFound */
export async function lockManagedUser(
  trx: Transaction<AuthDatabase>,
  { userId, audience }: ManagedUser,
): Promise<User> {
  const user = await lockUserById(trx, userId)
  if (!user || isStaged(user) || (audience !== undefined && user.aud !== audience)) throw userNotFound()
  return user
}
