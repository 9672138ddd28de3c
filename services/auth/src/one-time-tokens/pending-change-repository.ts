import type { Kysely, Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { UserIdentifier } from '../identifier.ts'
import { deleteTokensOfKinds } from './one-time-token-repository.ts'

/** Ends the changes of email and phone that wait to be confirmed: whoever has asked for them may be somebody else by now. */
export async function deletePendingChanges(trx: Transaction<AuthDatabase>, userId: string): Promise<void> {
  await deleteTokensOfKinds(trx, userId, ['email_change_new', 'email_change_current', 'phone_change'])
  await trx
    .updateTable('users')
    .set({ email_change: '', email_change_confirm_status: 0, phone_change: '' })
    .where('id', '=', userId)
    .where((where) => where.or([where('email_change', '<>', ''), where('phone_change', '<>', '')]))
    .execute()
}

/** Finds when somebody who was signed in asked for the change of email or phone that waits. */
export async function findChangeAskedAt(
  db: Kysely<AuthDatabase>,
  userId: string,
  kind: UserIdentifier['kind'],
): Promise<string | null> {
  const column = kind === 'email' ? 'email_change_asked_at' : 'phone_change_asked_at'
  const query = db.selectFrom('users').select(`${column} as askedAt`).where('id', '=', userId)
  return (await query.executeTakeFirst())?.askedAt ?? null
}
