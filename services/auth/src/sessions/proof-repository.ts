import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { FACTOR_METHODS } from '../factors/factor.ts'
import type { Timestamp } from '../records/timestamp.ts'

/** One way in which a session was proven, and when last: an entry of its `amr`. */
export interface Proof {
  readonly method: string
  readonly at: Timestamp
  /** Since when the credential belongs to the account; null: since the account was made. */
  readonly credentialSince: Timestamp | null
}

/**
 * A new password accepts a credential of at least this age, shown at a sign-in of at most this age
 * (reference: Change of password).
 */
export const PASSWORD_PROOF_MS = 24 * 3_600_000

/**
 * Whether the credential of a proof had belonged to the account for so long by then. Somebody who has stolen a session can add
 * a credential of their own and sign in with it at once.
 */
export function isByOldCredential({ at, credentialSince }: Proof, ageMs: number): boolean {
  return credentialSince === null || Date.parse(at) - Date.parse(credentialSince) >= ageMs
}

/** Lists how a session was proven, in no particular order. An ended session has no proofs. */
export async function listProofs(db: Db, sessionId: string): Promise<readonly Proof[]> {
  return db
    .selectFrom('mfa_amr_claims')
    .select(['authentication_method as method', 'updated_at as at', 'credential_since as credentialSince'])
    .where('session_id', '=', sessionId)
    .execute()
}

/** Stores since when the credential of a proof belongs to the account; null: since the account was made. */
export async function updateCredentialSince(
  trx: Db,
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
 * Copies the proofs of a session to another session of its user, without the proofs of second factors. A copied proof replaces a
 * proof of the same method, since it tells what the earlier credential has proven.
 */
export async function upsertCopiedProofs(
  trx: Db,
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
