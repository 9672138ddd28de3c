import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Challenge } from './challenge.ts'

/** A challenge that is about to be stored. The hash and the WebAuthn challenge are null where its type has none. */
export interface NewChallenge {
  readonly id: string
  readonly factorId: string
  /** The session that asks. The challenge ends with it. */
  readonly sessionId: string
  /** A valid IP address, or empty. */
  readonly ip: string
  /** Null where no code was sent. */
  readonly codeHash: Buffer | null
  /** The WebAuthn challenge that an authenticator signs. */
  readonly webauthn: string | null
  readonly createdAt: Date
  /** The microseconds that are added to the time of the challenge in the factor's row. */
  readonly delayMicroseconds: number
}

/** The unique index that two challenges of different factors violate at the same microsecond. */
export const CHALLENGE_MOMENT_KEY = 'mfa_factors_last_challenged_at_key'

/** Stores a challenge, and its time in the factor's row. */
export async function insertChallenge(trx: Db, challenge: NewChallenge): Promise<void> {
  const { id, factorId, sessionId, ip, codeHash, webauthn, createdAt, delayMicroseconds } = challenge
  await trx
    .insertInto('mfa_challenges')
    .values({
      id,
      factor_id: factorId,
      session_id: sessionId,
      ip: ip || null,
      otp_hash: codeHash,
      web_authn_session_data: webauthn === null ? null : { challenge: webauthn },
      created_at: createdAt,
    })
    .execute()
  const askedAt = sql<string>`${createdAt}::timestamptz + ${delayMicroseconds}::int * interval '1 microsecond'`
  await trx.updateTable('mfa_factors').set({ last_challenged_at: askedAt }).where('id', '=', factorId).execute()
}

/** Finds a challenge of a factor; undefined where the factor has none with the id. @param ip the client's address */
export async function findChallenge(
  db: Db,
  { id, factorId, ip }: Pick<NewChallenge, 'id' | 'factorId' | 'ip'>,
): Promise<Challenge | undefined> {
  const row = await db
    .selectFrom('mfa_challenges')
    .select(['id', 'otp_hash', 'verified_at', 'web_authn_session_data', 'created_at'])
    .select(sql<boolean>`ip IS NOT DISTINCT FROM ${ip || null}::inet`.as('is_from_here'))
    .where('id', '=', id)
    .where('factor_id', '=', factorId)
    .executeTakeFirst()
  if (!row) return undefined
  return {
    id: row.id,
    codeHash: row.otp_hash,
    webauthn: row.web_authn_session_data?.challenge ?? null,
    isVerified: row.verified_at !== null,
    isFromHere: row.is_from_here,
    createdAt: row.created_at,
  }
}

/**
 * Counts a guess before it is compared, so that concurrent guesses cannot exceed the limit.
 * @returns how many guesses are left after it; undefined when none was left
 */
export async function countChallengeGuess(db: Db, id: string, guessesMax: number): Promise<number | undefined> {
  const row = await db
    .updateTable('mfa_challenges')
    .set({ guesses: sql`guesses + 1` })
    .where('id', '=', id)
    .where('guesses', '<', guessesMax)
    .returning('guesses')
    .executeTakeFirst()
  return row && guessesMax - row.guesses
}

/** Consumes a challenge. False when another request was first. */
export async function claimChallenge(trx: Db, id: string, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('mfa_challenges')
    .set({ verified_at: now })
    .where('id', '=', id)
    .where('verified_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Deletes a challenge that can no longer be answered. An answered challenge stays, so that a second answer is told apart. */
export async function deleteChallenge(db: Db, id: string): Promise<void> {
  await db.deleteFrom('mfa_challenges').where('id', '=', id).where('verified_at', 'is', null).execute()
}
