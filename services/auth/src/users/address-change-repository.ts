import type { Kysely, Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { Timestamp } from './timestamp.ts'
import type { User } from './user.ts'
import type { UserIdentifier } from './user-repository.ts'

type Kind = UserIdentifier['kind']

/**
 * Finds when a user gave themselves the email or phone that they have now. Undefined when the account began with it, or an
 * admin set it.
 */
export async function findAddressChange(
  db: Kysely<AuthDatabase>,
  userId: string,
  kind: Kind,
): Promise<Timestamp | undefined> {
  const query = db.selectFrom('address_changes').select('changed_at').where('user_id', '=', userId)
  return (await query.where('kind', '=', kind).executeTakeFirst())?.changed_at
}

/**
 * Notes that a user has given themselves another email or phone. The first address of an anonymous user does not count: there is
 * no older way into their account.
 * @param user as they were before
 */
export async function recordAddressChange(
  trx: Transaction<AuthDatabase>,
  { id, isAnonymous }: Pick<User, 'id' | 'isAnonymous'>,
  { kind, at }: { readonly kind: Kind; readonly at: Date },
): Promise<void> {
  if (isAnonymous) return
  await trx
    .insertInto('address_changes')
    .values({ user_id: id, kind, changed_at: at })
    .onConflict((conflict) => conflict.columns(['user_id', 'kind']).doUpdateSet({ changed_at: at }))
    .execute()
}

/** Forgets a change: an admin has set the address. */
export async function deleteAddressChange(trx: Transaction<AuthDatabase>, userId: string, kind: Kind): Promise<void> {
  await trx.deleteFrom('address_changes').where('user_id', '=', userId).where('kind', '=', kind).execute()
}
