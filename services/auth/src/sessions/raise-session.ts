import { sql } from 'kysely'
import type { Behaviours } from '../config/behaviours.ts'
import type { Trx } from '../database.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { RandomBytes } from '../secrets/sealed-secret.ts'
import { updateCredentialSince } from './proof-repository.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken } from './refresh-token.ts'
import { type IssuedSession, requireSession, type SessionOrigin } from './session.ts'
import { type SessionRow, sessionColumns, toStoredSession } from './session-repository.ts'

/** A second factor that a user has shown. */
export interface ShownFactor extends SessionOrigin {
  readonly userId: string
  readonly sessionId: string
  readonly factorId: string
  /** The entry that the proof adds to the `amr`. */
  readonly method: string
  /** Since when the user has the factor. */
  readonly credentialSince: Timestamp | Date
}

export interface RaiseSessionDeps {
  readonly randomBytes: RandomBytes
  readonly config: { readonly behaviours: Pick<Behaviours, 'acceptSpentParentUntilChildIsUsed'> }
}

/**
 * Raises a session to aal2, inside a transaction that has locked its user (reference: Rotation at aal2). The new refresh token
 * takes the place of all earlier ones, and the user's other sessions below aal2 end. The token is random, so that nobody can
 * compute it from the token before.
 * @throws sessionNotFound when the session may not be refreshed any more
 */
export async function raiseSession(
  trx: Trx,
  { randomBytes, config }: RaiseSessionDeps,
  shown: ShownFactor,
): Promise<IssuedSession> {
  const refreshToken = firstRefreshToken(randomBytes(FIRST_TOKEN_BYTES))
  const { rows } = await sql<SessionRow>`SELECT ${sessionColumns} FROM ${sql.table('raise_session')}(
    ${shown.userId}, ${shown.sessionId}, ${shown.factorId}, ${shown.method}, ${hashRefreshToken(refreshToken)},
    ${shown.userAgent}, ${shown.ip}, ${!config.behaviours.acceptSpentParentUntilChildIsUsed}) AS r`.execute(trx)
  const row = requireSession(rows.find(({ verdict }) => verdict === 'done'))
  await updateCredentialSince(trx, shown, shown.credentialSince)
  return { ...toStoredSession(row), refreshToken }
}
