import { randomUUID } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import { passkeyChallengeExpired, passkeyChallengeNotFound, passkeyNotFound } from '../factor-errors.ts'
import { parseId } from '../records/ids.ts'
import type { CredentialRequest } from './ceremony.ts'
import type { Passkey, PasskeyQuestion, StoredCredential, WebauthnCredentialsTable } from './credential.ts'

/** Returns all passkeys of a user, oldest first. A setting limits their number. */
export async function listPasskeys(db: Db, userId: string): Promise<Passkey[]> {
  const query = db.selectFrom('webauthn_credentials').selectAll().where('user_id', '=', userId)
  return (await query.orderBy('id').execute()).map(toPasskey)
}

/** Finds a passkey by its credential id, in base64url. Returns `undefined` if no user has it. */
export async function findPasskeyByCredential(db: Db, credentialId: string): Promise<Passkey | undefined> {
  const query = db.selectFrom('webauthn_credentials').selectAll().where('credential_id', '=', credentialId)
  const row = await query.executeTakeFirst()
  return row && toPasskey(row)
}

/** A passkey to insert. Its credential has been verified. */
interface NewPasskey {
  readonly userId: string
  /** The session that registers the passkey. */
  readonly sessionId: string
  readonly friendlyName: string
  readonly credential: StoredCredential
  readonly now: Date
}

/** Inserts a passkey. @returns `undefined` if a passkey already has this credential */
export async function insertPasskey(
  trx: Db,
  { userId, sessionId, friendlyName, credential, now }: NewPasskey,
): Promise<Passkey | undefined> {
  const row = await trx
    .insertInto('webauthn_credentials')
    .values({
      user_id: userId,
      session_id: sessionId,
      credential_id: credential.id,
      public_key: credential.publicKey,
      sign_count: BigInt(credential.counter),
      transports: JSON.stringify(credential.transports),
      backup_eligible: credential.backupEligible,
      friendly_name: friendlyName,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .returningAll()
    .executeTakeFirst()
  return row && toPasskey(row)
}

interface PasskeyOfUser {
  readonly userId: string
  readonly passkeyId: string
}

export async function updatePasskeyName(
  trx: Db,
  { userId, passkeyId }: PasskeyOfUser,
  { friendlyName, now }: Pick<NewPasskey, 'friendlyName' | 'now'>,
): Promise<Passkey> {
  const row = await trx
    .updateTable('webauthn_credentials')
    .set({ friendly_name: friendlyName, updated_at: now })
    .where('id', '=', passkeyId)
    .where('user_id', '=', userId)
    .returningAll()
    .executeTakeFirst()
  return toPasskey(requirePasskey(row))
}

export async function deletePasskey(trx: Db, { userId, passkeyId }: PasskeyOfUser): Promise<void> {
  const query = trx.deleteFrom('webauthn_credentials').where('id', '=', passkeyId).where('user_id', '=', userId)
  requirePasskey(await query.returning('id').executeTakeFirst())
}

/** Deletes the passkeys that the live sessions of a user, or one session, registered. @returns their ids */
export async function deletePasskeysOfSessions(
  trx: Db,
  userId: string,
  sessionId: string | undefined,
): Promise<readonly string[]> {
  const sessions = trx
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .$if(sessionId !== undefined, (query) => query.where('id', '=', sessionId ?? ''))
  const query = trx.deleteFrom('webauthn_credentials').where('user_id', '=', userId).where('session_id', 'in', sessions)
  return (await query.returning('id').execute()).map(({ id }) => id)
}

/** Deletes the passkeys of a user that were registered at a time or later. @returns their ids */
export async function deletePasskeysSince(trx: Trx, userId: string, since: Date): Promise<readonly string[]> {
  const query = trx.deleteFrom('webauthn_credentials').where('user_id', '=', userId)
  const rows = await query.where('created_at', '>=', sql<string>`${since}`).returning('id').execute()
  return rows.map(({ id }) => id)
}

/** Lists the passkeys of a user that were registered at a time or later, oldest first. */
export async function listPasskeysSince(db: Db, userId: string, since: Date): Promise<Passkey[]> {
  const query = db.selectFrom('webauthn_credentials').selectAll().where('user_id', '=', userId)
  const rows = await query
    .where('created_at', '>=', sql<string>`${since}`)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toPasskey)
}

function requirePasskey<Found>(row: Found | undefined): Found {
  if (row === undefined) throw passkeyNotFound()
  return row
}

/**
 * Stores the use of a passkey. Returns `false` if the passkey was deleted, or if its stored counter is not lower. If concurrent
 * answers have the same counter, all but one come from a cloned key. Authenticators that do not count send 0.
 */
export async function updatePasskeyUse(
  trx: Db,
  { id, counter, now }: { readonly id: string; readonly counter: number; readonly now: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('webauthn_credentials')
    .set({ sign_count: BigInt(counter), last_used_at: now, updated_at: now })
    .where('id', '=', id)
    .where('sign_count', counter === 0 ? '=' : '<', BigInt(counter))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function toPasskey(row: Selectable<WebauthnCredentialsTable>): Passkey {
  return {
    id: row.id,
    userId: row.user_id,
    friendlyName: row.friendly_name,
    credential: {
      id: row.credential_id,
      publicKey: row.public_key,
      counter: Number(row.sign_count),
      transports: [...row.transports],
      backupEligible: row.backup_eligible,
    },
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }
}

/** The user who registers a passkey, and the session of the user. */
interface Registrant {
  readonly userId: string
  readonly sessionId: string
}

/** Inserts a challenge. @param registrant `null` for a sign-in, in which the answer identifies the user */
export async function insertPasskeyChallenge(
  db: Db,
  registrant: Registrant | null,
  { options, challenge, expiresAt }: CredentialRequest & { readonly expiresAt: Date },
): Promise<PasskeyQuestion> {
  const id = randomUUID()
  const owner = { user_id: registrant?.userId ?? null, session_id: registrant?.sessionId ?? null }
  await db
    .insertInto('webauthn_challenges')
    .values({ id, ...owner, challenge, expires_at: expiresAt })
    .execute()
  return { id, options, expiresAt }
}

/** A challenge that was deleted, so that it cannot be answered again. */
interface ClaimedChallenge {
  readonly challenge: string
  readonly isExpired: boolean
}

/** Deletes a challenge of a user or of a sign-in, and returns it. Only one of several concurrent requests gets it. */
async function claimPasskeyChallenge(
  db: Db,
  { id, userId, now }: { readonly id: string; readonly userId: string | null; readonly now: Date },
): Promise<ClaimedChallenge | undefined> {
  const row = await db
    .deleteFrom('webauthn_challenges')
    .where('id', '=', id)
    .where('user_id', 'is not distinct from', userId)
    .returning(['challenge', 'expires_at'])
    .executeTakeFirst()
  return row && { challenge: row.challenge, isExpired: Date.parse(row.expires_at) <= now.getTime() }
}

/** Deletes the challenge that a request answers, and returns it. A challenge can be answered only once. */
export async function requirePasskeyChallenge(
  { db, now }: { readonly db: Db; readonly now: () => Date },
  { challengeId, userId }: { readonly challengeId: string; readonly userId: string | null },
): Promise<string> {
  const id = parseId(challengeId)
  const claimed = id === undefined ? undefined : await claimPasskeyChallenge(db, { id, userId, now: now() })
  if (!claimed) throw passkeyChallengeNotFound()
  if (claimed.isExpired) throw passkeyChallengeExpired()
  return claimed.challenge
}
