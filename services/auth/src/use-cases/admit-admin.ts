import type { AuthDeps } from '../deps.ts'
import { notAdmin } from '../errors.ts'
import type { VerifiedClaims } from '../sessions/access-token.ts'
import { type Admin, toAdmin } from '../sessions/admin.ts'
import { requireLiveSession } from './require-live-session.ts'

/**
 * The admin behind a bearer. Of an operator's token the role is enough; one that was issued with a session is good for
 * as long as that session is (contract 4.8), and as long as its user has an admin's role. Where the hook CUSTOM_ACCESS_TOKEN
 * decides on claims, the role may be its work: then the end of the session, which a change of role brings, has to do.
 * @throws notAdmin, badJwt, sessionNotFound, userBanned
 */
export async function admitAdmin(
  deps: Pick<AuthDeps, 'config' | 'hooks' | 'lanes'>,
  claims: VerifiedClaims,
): Promise<Admin> {
  const admin = toAdmin(claims, deps.config.jwt.adminRoles)
  const { sessionId, userId } = admin
  if (sessionId === null) return admin
  const role = await requireLiveSession(deps, { sessionId, userId })
  if (!deps.hooks.isOn('CUSTOM_ACCESS_TOKEN') && !deps.config.jwt.adminRoles.includes(role)) throw notAdmin()
  return admin
}
