import type { Db, Trx } from '../database.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
import { deleteTokensOfKinds } from './one-time-token-repository.ts'

/** Ends the pending changes of email and phone, since a thief may have asked for them. */
export async function deletePendingChanges(trx: Trx, userId: string): Promise<void> {
  await deleteTokensOfKinds(trx, userId, ['email_change_new', 'email_change_current', 'phone_change'])
  await trx
    .updateTable('users')
    .set({ email_change: '', email_change_confirm_status: 0, phone_change: '' })
    .where('id', '=', userId)
    .where((where) => where.or([where('email_change', '<>', ''), where('phone_change', '<>', '')]))
    .execute()
}

/** Finds when the pending change of email or phone was requested in a session. */
export async function findChangeAskedAt(db: Db, userId: string, kind: IdentifierKind): Promise<string | null> {
  const column = kind === 'email' ? 'email_change_asked_at' : 'phone_change_asked_at'
  const query = db.selectFrom('users').select(`${column} as askedAt`).where('id', '=', userId)
  return (await query.executeTakeFirst())?.askedAt ?? null
}
