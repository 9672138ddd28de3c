import { type Kysely, sql, type Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import { FACTOR_METHODS } from '../factors/factor.ts'
import { NO_TIME } from '../users/stored-values.ts'
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
  return row && { id: row.id, aal: row.aal === 'aal2' ? 'aal2' : 'aal1', startedAt: row.created_at ?? NO_TIME }
}

/** One way in which a session was proven, and when last: an entry of its `amr`. */
export interface Proof {
  readonly method: string
  readonly at: Timestamp
  /** Since when the credential belongs to the account; null: since the account was made. */
  readonly credentialSince: Timestamp | null
}

/**
 * Least age of a credential, and greatest age of a sign-in by it, that a new password accepts
 * (reference: Change of password).
 */
export const PASSWORD_PROOF_MS = 24 * 3_600_000

/**
 * Whether a proof was made by a credential that had belonged to the account for so long by then. Whoever has stolen a session
 * can add a credential of their own and sign in by it at once.
 */
export function isByOldCredential({ at, credentialSince }: Proof, ageMs: number): boolean {
  return credentialSince === null || Date.parse(at) - Date.parse(credentialSince) >= ageMs
}

/** Lists how a session was proven. */
export async function listProofs(db: Kysely<AuthDatabase>, sessionId: string): Promise<readonly Proof[]> {
  return db
    .selectFrom('mfa_amr_claims')
    .select(['authentication_method as method', 'updated_at as at', 'credential_since as credentialSince'])
    .where('session_id', '=', sessionId)
    .execute()
}

/** Notes since when the credential of a proof belongs to the account. */
export async function updateCredentialSince(
  trx: Kysely<AuthDatabase>,
  { sessionId, method }: { readonly sessionId: string; readonly method: string },
  since: Timestamp | Date | null,
): Promise<void> {
  await trx
    .updateTable('mfa_amr_claims')
    .set({ credential_since: since })
    .where('session_id', '=', sessionId)
    .where('authentication_method', '=', method)
    .execute()
}

/**
 * Gives a session the proofs of another one of its user, but for second factors. Those of a method that it has too take the place
 * of its own: they say what the credential of before has proven.
 */
export async function copyProofs(
  trx: Kysely<AuthDatabase>,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const columns = ['authentication_method', 'credential_since', 'created_at', 'updated_at'] as const
  await trx
    .insertInto('mfa_amr_claims')
    .columns(['id', 'session_id', ...columns])
    .expression((query) =>
      query
        .selectFrom('mfa_amr_claims')
        .select([
          sql<string>`${sql.table('uuid_v7')}()`.as('id'),
          sql.val(to).$castTo<string>().as('session_id'),
          ...columns,
        ])
        .where('session_id', '=', from)
        .where('authentication_method', 'not in', Object.values(FACTOR_METHODS)),
    )
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'authentication_method']).doUpdateSet((row) => ({
        credential_since: row.ref('excluded.credential_since'),
        created_at: row.ref('excluded.created_at'),
        updated_at: row.ref('excluded.updated_at'),
      })),
    )
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
