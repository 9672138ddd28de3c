import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { CredentialRequest } from './ceremony.ts'
import type { CredentialOptions } from './credential.ts'

type Database = Kysely<AuthDatabase>

/** What an authenticator is asked, and until when it may answer. */
export interface PasskeyQuestion {
  readonly id: string
  readonly options: CredentialOptions
  readonly expiresAt: Date
}

/** Remembers what was asked. @param userId null for a sign-in: who that is, the answer tells */
export async function insertPasskeyChallenge(
  db: Database,
  userId: string | null,
  { options, challenge, expiresAt }: CredentialRequest & { readonly expiresAt: Date },
): Promise<PasskeyQuestion> {
  const id = randomUUID()
  await db.insertInto('webauthn_challenges').values({ id, user_id: userId, challenge, expires_at: expiresAt }).execute()
  return { id, options, expiresAt }
}

/** A challenge that was taken away: nobody can answer it again. */
export interface TakenChallenge {
  readonly challenge: string
  readonly isExpired: boolean
}

/** Takes a challenge, of a user or of a sign-in. Of requests that come at once one has it. */
export async function takePasskeyChallenge(
  db: Database,
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
