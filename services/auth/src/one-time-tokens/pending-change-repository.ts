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

type ChangeKind = 'email_change_new' | 'email_change_current' | 'phone_change'

/** A place for a message of a change: that of the message which a session asked for, or that of one which is sent again. */
export interface MessagePlace<Kind extends ChangeKind = ChangeKind> {
  readonly kind: Kind
  readonly isResent: boolean
}

/**
 * Finds where messages of a pending change can be stored again without ending another one: for each kind a place whose secrets
 * have expired, or that is empty. A kind without such a place is left out.
 * @param hasAgreed whether one of two addresses has agreed already. The messages of that address are gone, and it gets none
 */
export async function findFreePlaces<Kind extends ChangeKind>(
  db: Db,
  { id }: Pick<User, 'id'>,
  { kinds, hasAgreed, now }: { readonly kinds: readonly Kind[]; readonly hasAgreed: boolean; readonly now: Date },
): Promise<{ readonly places: readonly MessagePlace<Kind>[]; readonly isLost: boolean }> {
  const query = db.selectFrom('one_time_tokens').select(['kind', 'is_resent', 'expires_at']).where('user_id', '=', id)
  const rows = await query.where('kind', 'in', kinds).execute()
  const waiting = kinds.filter((kind) => !hasAgreed || rows.some((row) => row.kind === kind))
  const alive = rows.filter((row) => Date.parse(row.expires_at) > now.getTime())
  const places = waiting.flatMap((kind) =>
    [false, true]
      .filter((isResent) => !alive.some((row) => row.kind === kind && row.is_resent === isResent))
      .slice(0, 1)
      .map((isResent) => ({ kind, isResent })),
  )
  return { places, isLost: waiting.length === 0 }
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
export async function deleteAnonymousChanges<After extends Pick<User, 'id' | 'isAnonymous'>>(
  trx: Trx,
  { behaviours }: { readonly behaviours: Pick<Behaviours, 'confirmerOwnsAnonymousAccount'> },
  before: Pick<User, 'isAnonymous'>,
  after: After,
): Promise<After | User> {
  if (!before.isAnonymous || after.isAnonymous || !behaviours.confirmerOwnsAnonymousAccount) return after
  await deleteTokensOfKinds(trx, after.id, ['email_change_new', 'email_change_current', 'phone_change'])
  return updateUser(trx, after.id, { email_change: '', email_change_confirm_status: 0, phone_change: '' })
}
