import type { AuthDeps } from '../deps.ts'
import type { VerifiedClaims } from '../sessions/access-token.ts'
import { type Admin, toAdmin } from '../sessions/admin.ts'
import { requireLiveSession } from './require-live-session.ts'

/**
 * The admin behind a bearer. Of an operator's token the role is enough; one that was issued with a session is good for
 * as long as that session is (contract 4.8).
 * @throws notAdmin, badJwt, sessionNotFound, userBanned
 */
export async function admitAdmin(deps: Pick<AuthDeps, 'config' | 'lanes'>, claims: VerifiedClaims): Promise<Admin> {
  const admin = toAdmin(claims, deps.config.jwt.adminRoles)
  const { sessionId, userId } = admin
  if (sessionId !== null) await requireLiveSession(deps, { sessionId, userId })
  return admin
}
