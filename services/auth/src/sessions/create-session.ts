import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { Timestamp } from '../users/timestamp.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken } from './refresh-token.ts'
import type { IssuedSession, SignInMethod } from './session.ts'
import { insertSession, type SessionOrigin } from './session-repository.ts'
import { copyProofs, updateCredentialSince } from './session-rows.ts'

export interface SignIn extends SessionOrigin {
  readonly method: SignInMethod
  /** Since when the credential that was shown belongs to the account; null: since the account was made. */
  readonly credentialSince: Timestamp | Date | null
  /** The session of the same user that this one takes the place of, and whose proofs it keeps. */
  readonly continues?: string | null
}

/**
 * Signs a user in, inside the caller's transaction: session, first refresh token, amr, last sign-in. Answers the user as
 * they are now. The audit entry is the caller's, who knows what kind of sign-in it was.
 */
export async function createSession(
  trx: Kysely<AuthDatabase>,
  { randomBytes }: { readonly randomBytes: (size: number) => Buffer },
  { id: userId }: { readonly id: string },
  { credentialSince, continues = null, ...signIn }: SignIn,
): Promise<IssuedSession> {
  const refreshToken = firstRefreshToken(randomBytes(FIRST_TOKEN_BYTES))
  const stored = await insertSession(trx, { ...signIn, userId, tokenHash: hashRefreshToken(refreshToken) })
  if (credentialSince !== null) {
    await updateCredentialSince(trx, { sessionId: stored.sessionId, method: signIn.method }, credentialSince)
  }
  if (continues !== null) await copyProofs(trx, { from: continues, to: stored.sessionId })
  return { ...stored, refreshToken }
}
