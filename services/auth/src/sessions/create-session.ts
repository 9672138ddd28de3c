import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken } from './refresh-token.ts'
import type { IssuedSession, SignInMethod } from './session.ts'
import { insertSession, type SessionOrigin } from './session-repository.ts'

export interface SignIn extends SessionOrigin {
  readonly method: SignInMethod
}

/**
 * Signs a user in, inside the caller's transaction: session, first refresh token, amr, last sign-in. Answers the user as
 * they are now. The audit entry is the caller's, who knows what kind of sign-in it was.
 */
export async function createSession(
  trx: Kysely<AuthDatabase>,
  { randomBytes }: { readonly randomBytes: (size: number) => Buffer },
  { id: userId }: { readonly id: string },
  signIn: SignIn,
): Promise<IssuedSession> {
  const refreshToken = firstRefreshToken(randomBytes(FIRST_TOKEN_BYTES))
  const stored = await insertSession(trx, { ...signIn, userId, tokenHash: hashRefreshToken(refreshToken) })
  return { ...stored, refreshToken }
}
