import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { Timestamp } from '../users/timestamp.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken } from './refresh-token.ts'
import type { IssuedSession } from './session.ts'
import { callPromoteSession, type SessionOrigin } from './session-repository.ts'
import { updateCredentialSince } from './session-rows.ts'

export interface SecondFactorShown extends SessionOrigin {
  readonly userId: string
  readonly sessionId: string
  readonly factorId: string
  readonly method: string
  /** Since when the user has the factor. */
  readonly credentialSince: Timestamp | Date
}

/**
 * Raises a session to aal2, inside a transaction that has locked its user (reference: Rotation at aal2). Its new
 * refresh token is random: nobody can compute it from the one before. @returns undefined when the session may not be
 * refreshed any more
 */
export async function promoteSession(
  trx: Kysely<AuthDatabase>,
  { randomBytes }: { readonly randomBytes: (size: number) => Buffer },
  { credentialSince, ...shown }: SecondFactorShown,
): Promise<IssuedSession | undefined> {
  const refreshToken = firstRefreshToken(randomBytes(FIRST_TOKEN_BYTES))
  const stored = await callPromoteSession(trx, { ...shown, tokenHash: hashRefreshToken(refreshToken) })
  if (!stored) return undefined
  await updateCredentialSince(trx, shown, credentialSince)
  return { ...stored, refreshToken }
}
