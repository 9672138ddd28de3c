import type { Lanes } from '@trestle/database/lanes.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { audienceMismatch } from '../errors.ts'
import { refuseLostUser } from '../sessions/active-caller.ts'
import { requireSession } from '../sessions/session.ts'
import { callerAudience, type TokenUser } from '../sessions/token-user.ts'
import { findOwnUser } from '../users/profile-repository.ts'
import { refuseBanned } from '../users/user.ts'
import { type UserView, viewUser } from '../users/user-view.ts'

/**
 * Gets the caller's own record. A token of an ended session is accepted until it expires, unless SESSIONS_ENFORCE_ON_ACCESS_TOKEN
 * is set (reference: Live sessions). A ban takes effect at once.
 * @throws tokenUserNotFound, userBanned, sessionNotFound, audienceMismatch
 */
export async function getOwnUser(
  deps: { readonly db: Db; readonly lanes: Lanes; readonly config: AuthConfig },
  {
    caller,
    audience,
  }: {
    readonly caller: TokenUser
    /** The audience that the request names; undefined when it names none. */
    readonly audience: string | undefined
  },
): Promise<UserView> {
  const { lanes, config } = deps
  const sessionId = config.sessions.enforceOnAccessToken ? caller.sessionId : null
  const found = await findOwnUser(lanes, { userId: caller.userId, sessionId })
  if (found === undefined) return refuseLostUser(deps, caller)
  if (found.isBanned) refuseBanned()
  requireSession(found.isSessionLive ? found : undefined)
  const wanted = callerAudience(caller, audience, config.jwt.audience)
  // The second condition refuses a token for another service that shares the secret.
  const isOurs = config.behaviours.acceptTokenAudience === 'any' || found.user.audience === wanted
  if (!caller.audiences.includes(wanted) || !isOurs) throw audienceMismatch()
  return viewUser(found, config.behaviours)
}
