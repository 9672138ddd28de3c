import type { Db, Trx } from '../database.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
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
