import type { AuthDeps } from '../deps.ts'
import { sessionNotFound } from '../errors.ts'
import { findStoredSession } from '../sessions/session-repository.ts'
import { makeClaims, type SessionClaims } from '../sessions/session-view.ts'

/**
 * The claims of a session that is about to be raised to aal2, where there is the hook CUSTOM_ACCESS_TOKEN. It is asked before
 * anything is used up: one that is away would else cost the client a recovery code, and the only refresh token of the session.
 * @param shown `method`: what is added to the `amr` @throws sessionNotFound, what the hook refuses with
 */
export async function prepareRaisedClaims(
  deps: AuthDeps,
  { sessionId, method }: { readonly sessionId: string; readonly method: string },
): Promise<SessionClaims | undefined> {
  if (!deps.hooks.isOn('CUSTOM_ACCESS_TOKEN')) return undefined
  const session = await findStoredSession(deps.lanes, sessionId)
  if (!session) throw sessionNotFound()
  const shown = { method, timestamp: Math.floor(deps.now().getTime() / 1_000) }
  const amr = [shown, ...session.amr.filter((entry) => entry.method !== method)]
  return makeClaims(deps, { ...session, aal: 'aal2', amr })
}
