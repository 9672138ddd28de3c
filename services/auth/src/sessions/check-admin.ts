import type { VerifiedClaims } from '../access-tokens/access-token.ts'
import type { Db } from '../database.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { type FreshSessionDeps, requireFreshSession } from './active-caller.ts'
import { type Admin, refuseAdminWithoutFactor, requireAdminRole, toAdmin } from './admin.ts'
import { type LiveSessionDeps, requireLiveSession } from './live-session.ts'

interface CheckAdminDeps extends LiveSessionDeps {
  readonly config: LiveSessionDeps['config'] & { readonly jwt: { readonly adminRoles: readonly string[] } }
  readonly hooks: Pick<Hooks, 'isOn'>
}

/**
 * Requires that a bearer is an admin's. For an operator's token the role is enough. A token of a session is
 * valid while the session is live and the user has an admin's role (reference: Admins). Where the hook
 * CUSTOM_ACCESS_TOKEN is on, the hook may have set the role, so only the session counts, which a change of
 * role ends. An admin who has a second factor must have shown it, since these endpoints can unenrol every
 * factor.
 * @throws notAdmin, badJwtSession, sessionNotFound, userBanned, adminNeedsSecondFactor
 */
export async function checkAdmin(deps: CheckAdminDeps, claims: VerifiedClaims): Promise<Admin> {
  const admin = toAdmin(claims, deps.config.jwt.adminRoles)
  const { sessionId, userId } = admin
  if (sessionId === null) return admin
  const session = await requireLiveSession(deps, { sessionId, userId })
  if (!deps.hooks.isOn('CUSTOM_ACCESS_TOKEN')) requireAdminRole(session, deps.config.jwt.adminRoles)
  // The token may be older than the proof of the second factor.
  const hasShownFactor = session.hasShownFactor && claims.aal === 'aal2'
  if (session.userHasFactor && !hasShownFactor) refuseAdminWithoutFactor()
  return admin
}

/**
 * Requires that an admin's session is as fresh as SESSIONS_FRESH_FOR asks of users for their own changes.
 * @throws signInTooOld
 */
export async function checkFreshAdmin(
  deps: FreshSessionDeps & { readonly db: Db },
  { sessionId }: Pick<Admin, 'sessionId'>,
): Promise<void> {
  if (sessionId === null) return
  await requireFreshSession(deps.db, deps, { user: { isAnonymous: false }, session: { id: sessionId } })
}
