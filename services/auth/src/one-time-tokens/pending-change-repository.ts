import type { Behaviours } from '../config/behaviours.ts'
import type { Db, Trx } from '../database.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
import type { User } from '../users/user.ts'
import { updateUser } from '../users/user-change-repository.ts'
import { deleteTokensOfKinds } from './one-time-token-repository.ts'

/** Finds when the pending change of email or phone was requested in a session. */
export async function findChangeAskedAt(db: Db, userId: string, kind: IdentifierKind): Promise<string | null> {
  const column = kind === 'email' ? 'email_change_asked_at' : 'phone_change_asked_at'
  const query = db.selectFrom('users').select(`${column} as askedAt`).where('id', '=', userId)
  return (await query.executeTakeFirst())?.askedAt ?? null
}

/** Deletes the messages of a pending change of email: each agrees to one change only. */
export async function deleteEmailChangeTokens(trx: Trx, userId: string): Promise<void> {
  await deleteTokensOfKinds(trx, userId, ['email_change_new', 'email_change_current'])
}

/**
 * Deletes the pending changes that an anonymous user has asked for, where the user has just become permanent
 * without a take-over. An address may belong to somebody else, whose confirmation would no longer remove the
 * session and the password of before.
 * @param before the user as they were before
 * @param after the user as they are now
 */
export async function deleteAnonymousChanges(
  trx: Trx,
  { behaviours }: { readonly behaviours: Pick<Behaviours, 'confirmerOwnsAnonymousAccount'> },
  before: Pick<User, 'isAnonymous'>,
  after: User,
): Promise<User> {
  if (!before.isAnonymous || after.isAnonymous || !behaviours.confirmerOwnsAnonymousAccount) return after
  await deleteTokensOfKinds(trx, after.id, ['email_change_new', 'email_change_current', 'phone_change'])
  return updateUser(trx, after.id, { email_change: '', email_change_confirm_status: 0, phone_change: '' })
}
