import { randomUUID } from 'node:crypto'
import type { Db } from '../database.ts'
import { passkeyChallengeExpired, passkeyChallengeNotFound } from '../factor-errors.ts'
import { parseId } from '../records/ids.ts'
import type { CredentialRequest } from './ceremony.ts'
import type { CredentialOptions } from './credential.ts'

/** A challenge of a passkey, and until when it may be answered. */
export interface PasskeyQuestion {
  readonly id: string
  readonly options: CredentialOptions
  readonly expiresAt: Date
}

/** Inserts a challenge. @param userId null for a sign-in: the answer of the authenticator names the user */
export async function insertPasskeyChallenge(
  db: Db,
  userId: string | null,
  { options, challenge, expiresAt }: CredentialRequest & { readonly expiresAt: Date },
): Promise<PasskeyQuestion> {
  const id = randomUUID()
  await db.insertInto('webauthn_challenges').values({ id, user_id: userId, challenge, expires_at: expiresAt }).execute()
  return { id, options, expiresAt }
}

/** A challenge that was deleted, so that nobody can answer it again. */
interface TakenChallenge {
  readonly challenge: string
  readonly isExpired: boolean
}

/** Deletes a challenge of a user or of a sign-in, and returns it. Of concurrent requests one gets it. */
async function takePasskeyChallenge(
  db: Db,
  { id, userId, now }: { readonly id: string; readonly userId: string | null; readonly now: Date },
): Promise<TakenChallenge | undefined> {
  const row = await db
    .deleteFrom('webauthn_challenges')
    .where('id', '=', id)
    .where('user_id', 'is not distinct from', userId)
    .returning(['challenge', 'expires_at'])
    .executeTakeFirst()
  return row && { challenge: row.challenge, isExpired: Date.parse(row.expires_at) <= now.getTime() }
}

/** Takes the challenge that a request answers. It can be answered once. @throws passkeyChallengeNotFound, passkeyChallengeExpired */
export async function requirePasskeyChallenge(
  { db, now }: { readonly db: Db; readonly now: () => Date },
  { challengeId, userId }: { readonly challengeId: string; readonly userId: string | null },
): Promise<string> {
  const id = parseId(challengeId)
  const taken = id === undefined ? undefined : await takePasskeyChallenge(db, { id, userId, now: now() })
  if (!taken) throw passkeyChallengeNotFound()
  if (taken.isExpired) throw passkeyChallengeExpired()
  return taken.challenge
}
