import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import { isStaged, type User } from '../users/user.ts'
import { listIdentities } from './identity-repository.ts'

/**
 * Whether a user has their email by the word of a provider alone, which has not verified it: they may be a stranger who waits
 * for its owner to confirm it. The database's function `release_email` looks for the same.
 */
export async function hasClaimedEmail(trx: Transaction<AuthDatabase>, user: User): Promise<boolean> {
  if (user.email === null || user.emailConfirmedAt !== null || isStaged(user)) return false
  const providers = (await listIdentities(trx, user.id)).map(({ provider }) => provider)
  return !providers.includes('email') && providers.some((provider) => provider !== 'phone')
}
