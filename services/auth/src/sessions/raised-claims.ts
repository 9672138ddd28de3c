import type { Lanes } from '@trestle/database/lanes.ts'
import { requireSession } from './session.ts'
import { findStoredSession } from './session-repository.ts'
import { buildClaims, type SessionClaims, type SessionViewDeps } from './session-view.ts'

/**
 * Makes the claims of a session that is about to be raised to aal2, where the hook CUSTOM_ACCESS_TOKEN is on. The hook is called
 * before anything is consumed. If the call failed afterwards, the client would have lost a recovery code, and the only refresh
 * token of the session.
 * @param shown `method`: the method that is added to the `amr`
 * @returns undefined where the hook is off
 * @throws sessionNotFound, hookFailed, hookRejected, hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson
 */
export async function prepareRaisedClaims(
  deps: SessionViewDeps & { readonly lanes: Lanes },
  { sessionId, method }: { readonly sessionId: string; readonly method: string },
): Promise<SessionClaims | undefined> {
  if (!deps.hooks.isOn('CUSTOM_ACCESS_TOKEN')) return undefined
  const session = requireSession(await findStoredSession(deps.lanes, sessionId))
  const shown = { method, timestamp: Math.floor(deps.now().getTime() / 1_000) }
  const amr = [shown, ...session.amr.filter((entry) => entry.method !== method)]
  return buildClaims(deps, { ...session, aal: 'aal2', amr })
}
