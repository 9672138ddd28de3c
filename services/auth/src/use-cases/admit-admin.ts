import type { AuthDeps } from '../deps.ts'
import { sessionNotFound, userBanned } from '../errors.ts'
import type { VerifiedClaims } from '../sessions/access-token.ts'
import { type Admin, toAdmin } from '../sessions/admin.ts'
import { findSessionStanding } from '../sessions/live-session-repository.ts'

/**
 * The admin behind a bearer. Of an operator's token the role is enough; one that was issued with a session is good for
 * as long as that session is (contract 4.8).
 * @throws notAdmin, badJwt, sessionNotFound, userBanned
 */
export async function admitAdmin(
  { config, lanes }: Pick<AuthDeps, 'config' | 'lanes'>,
  claims: VerifiedClaims,
): Promise<Admin> {
  const admin = toAdmin(claims, config.jwt.adminRoles)
  const { sessionId, userId } = admin
  if (sessionId === null) return admin
  const { timeboxMs, inactivityTimeoutMs } = config.sessions
  const standing = await findSessionStanding(lanes, {
    sessionId,
    userId,
    timeboxSeconds: timeboxMs === undefined ? null : timeboxMs / 1_000,
    inactivitySeconds: inactivityTimeoutMs === undefined ? null : inactivityTimeoutMs / 1_000,
  })
  if (standing === 'user-banned') throw userBanned()
  if (standing === 'ended') throw sessionNotFound()
  return admin
}
