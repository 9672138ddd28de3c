import type { VerifiedClaims } from '../access-tokens/access-token.ts'
import type { AuthDeps } from '../deps.ts'
import { adminNeedsSecondFactor, notAdmin } from '../errors.ts'
import { requireFreshSession } from '../sessions/active-caller.ts'
import { type Admin, toAdmin } from '../sessions/admin.ts'
import { requireLiveSession } from '../sessions/live-session.ts'

/**
 * The admin behind a bearer. Of an operator's token the role is enough; one that was issued with a session is good for
 * as long as that session is (reference: Admins), and as long as its user has an admin's role. Where the hook
 * CUSTOM_ACCESS_TOKEN decides on claims, the role may be its work: then the end of the session, which a change of role
 * brings, has to do. An admin who has a second factor must have shown it: through these endpoints every factor can be
 * taken away.
 * @throws notAdmin, badJwt, sessionNotFound, userBanned, adminNeedsSecondFactor
 */
export async function admitAdmin(
  deps: Pick<AuthDeps, 'config' | 'hooks' | 'lanes'>,
  claims: VerifiedClaims,
): Promise<Admin> {
  const admin = toAdmin(claims, deps.config.jwt.adminRoles)
  const { sessionId, userId } = admin
  if (sessionId === null) return admin
  const session = await requireLiveSession(deps, { sessionId, userId })
  if (!deps.hooks.isOn('CUSTOM_ACCESS_TOKEN') && !deps.config.jwt.adminRoles.includes(session.role)) throw notAdmin()
  // The token may be one from before the session was raised.
  const hasShownFactor = session.hasShownFactor && claims.aal === 'aal2'
  if (session.userHasFactor && !hasShownFactor) throw adminNeedsSecondFactor()
  return admin
}

/**
 * Lets an admin change something. In a session they need a sign-in of a moment ago, where SESSIONS_FRESH_FOR says so for what
 * users change of their own. @throws signInTooOld
 */
export async function admitChange(
  deps: Pick<AuthDeps, 'config' | 'db' | 'now'>,
  { sessionId }: Pick<Admin, 'sessionId'>,
): Promise<void> {
  if (sessionId === null) return
  await requireFreshSession(deps.db, deps, { user: { isAnonymous: false }, session: { id: sessionId } })
}
