import type { Pools } from '@trestle/database/pools.ts'
import { sql } from 'kysely'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { Trx } from '../database.ts'
import type { Timestamp } from '../records/timestamp.ts'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'
import {
  FIRST_TOKEN_BYTES,
  firstRefreshToken,
  hashRefreshToken,
  type IssuedSession,
  requireSession,
  type SessionOrigin,
} from './session.ts'
import {
  findStoredSession,
  type SessionRow,
  sessionColumns,
  toStoredSession,
  updateCredentialSince,
} from './session-repository.ts'
import { buildClaims, type SessionClaims, type SessionViewDeps } from './session-view.ts'

interface ShownFactor extends SessionOrigin {
  readonly userId: string
  readonly sessionId: string
  readonly factorId: string
  /** The authentication method that is added to the `amr`. */
  readonly method: string
  /** Since when the user has the factor. */
  readonly credentialSince: Timestamp | Date
}

export interface StepUpDeps {
  readonly randomBytes: RandomBytes
  readonly config: { readonly compatibility: Pick<CompatibilityOptions, 'acceptSpentParentUntilChildIsUsed'> }
}

/**
 * Steps a session up to aal2, inside a transaction that has locked its user (reference: Rotation at aal2). The new refresh token
 * takes the place of all earlier ones, and the user's other sessions below aal2 end. The token is random, so that nobody can
 * compute it from the token before.
 */
export async function stepUpSession(
  trx: Trx,
  { randomBytes, config }: StepUpDeps,
  shown: ShownFactor,
): Promise<IssuedSession> {
  const refreshToken = firstRefreshToken(randomBytes(FIRST_TOKEN_BYTES))
  const { rows } = await sql<SessionRow>`SELECT ${sessionColumns} FROM ${sql.table('raise_session')}(
    ${shown.userId}, ${shown.sessionId}, ${shown.factorId}, ${shown.method}, ${hashRefreshToken(refreshToken)},
    ${shown.userAgent}, ${shown.ip}, ${!config.compatibility.acceptSpentParentUntilChildIsUsed}) AS r`.execute(trx)
  const row = requireSession(rows.find(({ verdict }) => verdict === 'done'))
  await updateCredentialSince(trx, shown, shown.credentialSince)
  return { ...toStoredSession(row), refreshToken }
}

/**
 * Makes the claims of a session that is about to be stepped up to aal2, where the hook CUSTOM_ACCESS_TOKEN is on. The hook is
 * called before anything is consumed. If the call failed afterwards, the client would have lost a recovery code, and the only
 * refresh token of the session.
 * @param shown `method`: the method that is added to the `amr`
 * @returns undefined where the hook is off
 */
export async function prepareStepUpClaims(
  deps: SessionViewDeps & { readonly pools: Pools },
  { sessionId, method }: { readonly sessionId: string; readonly method: string },
): Promise<SessionClaims | undefined> {
  if (!deps.hooks.isOn('CUSTOM_ACCESS_TOKEN')) return undefined
  const session = requireSession(await findStoredSession(deps.pools, sessionId))
  const shown = { method, timestamp: Math.floor(deps.now().getTime() / 1_000) }
  const amr = [shown, ...session.amr.filter((entry) => entry.method !== method)]
  return buildClaims(deps, { ...session, aal: 'aal2', amr })
}
