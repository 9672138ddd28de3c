import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'

/** Ends the sessions of a user, with their refresh tokens; all but one where `keptId` names one. The user is locked. */
export async function deleteSessionsOfUser(
  trx: Transaction<AuthDatabase>,
  userId: string,
  keptId: string | null = null,
): Promise<void> {
  const query = trx.deleteFrom('sessions').where('user_id', '=', userId)
  await (keptId === null ? query : query.where('id', '<>', keptId)).execute()
}
