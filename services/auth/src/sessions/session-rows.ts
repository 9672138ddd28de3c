import type { Kysely, Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { Timestamp } from '../users/timestamp.ts'

/** A sign-in that has not ended. */
export interface Session {
  readonly id: string
  readonly aal: 'aal1' | 'aal2'
  readonly startedAt: Timestamp
}

/** Finds a session of a user. */
export async function findSession(
  db: Kysely<AuthDatabase>,
  userId: string,
  sessionId: string,
): Promise<Session | undefined> {
  const row = await db
    .selectFrom('sessions')
    .select(['id', 'aal', 'created_at'])
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row && { id: row.id, aal: row.aal === 'aal2' ? 'aal2' : 'aal1', startedAt: row.created_at }
}

/** One way in which a session was proven, and when last: an entry of its `amr`. */
export interface Proof {
  readonly method: string
  readonly at: Timestamp
}

/** Lists how a session was proven. */
export async function listProofs(db: Kysely<AuthDatabase>, sessionId: string): Promise<readonly Proof[]> {
  return db
    .selectFrom('mfa_amr_claims')
    .select(['authentication_method as method', 'updated_at as at'])
    .where('session_id', '=', sessionId)
    .execute()
}

/** Ends a session, with its refresh tokens. */
export async function deleteSession(db: Kysely<AuthDatabase>, sessionId: string): Promise<void> {
  await db.deleteFrom('sessions').where('id', '=', sessionId).execute()
}

/** Ends the sessions of a user, with their refresh tokens; all but one where `keptId` names one. The user is locked. */
export async function deleteSessionsOfUser(
  trx: Transaction<AuthDatabase>,
  userId: string,
  keptId: string | null = null,
): Promise<void> {
  const query = trx.deleteFrom('sessions').where('user_id', '=', userId)
  await (keptId === null ? query : query.where('id', '<>', keptId)).execute()
}
