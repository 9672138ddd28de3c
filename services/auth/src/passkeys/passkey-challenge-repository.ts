import { randomUUID } from 'node:crypto'
import type { Db } from '../database.ts'
import type { CredentialRequest } from './ceremony.ts'
import type { CredentialOptions } from './credential.ts'

/** A challenge of a passkey, and until when it may be answered. */
export interface PasskeyQuestion {
  readonly id: string
  readonly options: CredentialOptions
  readonly expiresAt: Date
}

/** The user who registers a passkey, and the session in which they do. */
interface Registrant {
  readonly userId: string
  readonly sessionId: string
}

/** Inserts a challenge. @param registrant null for a sign-in: the answer of the authenticator names the user */
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

/** A challenge that was deleted, so that nobody can answer it again. */
interface ClaimedChallenge {
  readonly challenge: string
  readonly isExpired: boolean
}

/** Deletes a challenge of a user or of a sign-in, and returns it. Of concurrent requests one gets it. */
export async function claimPasskeyChallenge(
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
