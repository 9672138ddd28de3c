import type { AuthDeps } from '../deps.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { deleteSession } from '../sessions/session-rows.ts'
import { type SessionView, type SessionViewDeps, signSessionView } from '../sessions/session-view.ts'

/**
 * The body of a session that has just begun. One whose claims the hook CUSTOM_ACCESS_TOKEN refuses, or cannot be asked for,
 * ends at once: nobody has its tokens, and it would count as the newest of its user. @throws what the hook refuses with
 */
export async function signNewSession(
  deps: SessionViewDeps & Pick<AuthDeps, 'db'>,
  session: IssuedSession,
): Promise<SessionView> {
  try {
    return await signSessionView(deps, session)
  } catch (error) {
    await deleteSession(deps.db, session.sessionId)
    throw error
  }
}
