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
  /** The authentication method to add to the `amr`. */
  readonly method: string
  /** When the user enrolled the factor. */
  readonly credentialSince: Timestamp | Date
}

export interface StepUpDeps {
  readonly randomBytes: RandomBytes
  readonly config: { readonly compatibility: Pick<CompatibilityOptions, 'acceptSpentParentUntilChildIsUsed'> }
}

/**
 * Steps a session up to aal2, in a transaction that has locked its user (reference: Rotation at aal2). The new refresh token
 * replaces all earlier ones, and the user's other sessions below aal2 end. The token is random, so that nobody can derive it from
 * the previous token.
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
 * Builds the claims of a session before its step-up to aal2, if the hook CUSTOM_ACCESS_TOKEN is on. The hook is called before
 * anything is consumed. If a later call failed, the client would lose a recovery code and the only refresh token of the session.
 * @param shown `method`: the method to add to the `amr`
 * @returns `undefined` if the hook is off
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
