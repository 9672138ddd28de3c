import type { AuthDeps } from '../deps.ts'
import { sessionNotFound, userBanned } from '../errors.ts'
import { findSessionStanding, type LiveSession } from '../sessions/live-session-repository.ts'

/**
 * Refuses a session that is past SESSIONS_TIMEBOX or SESSIONS_INACTIVITY_TIMEOUT though its row is still there, and its access
 * token not expired: for what must not outlive those (an admin's rights, another token).
 * @throws sessionNotFound, userBanned
 */
export async function requireLiveSession(
  { config, lanes }: Pick<AuthDeps, 'config' | 'lanes'>,
  named: { readonly sessionId: string; readonly userId: string | null },
): Promise<LiveSession> {
  const { timeboxMs, inactivityTimeoutMs } = config.sessions
  const found = await findSessionStanding(lanes, {
    ...named,
    timeboxSeconds: timeboxMs === undefined ? null : timeboxMs / 1_000,
    inactivitySeconds: inactivityTimeoutMs === undefined ? null : inactivityTimeoutMs / 1_000,
  })
  if (found.standing === 'live') return found.session
  throw found.standing === 'ended' ? sessionNotFound() : userBanned()
}
