import { auditToLog } from '../audit/audit-to-log.ts'
import type { AuthDeps } from '../deps.ts'
import { sessionNotFound, tokenUserNotFound, userBanned, validationFailed } from '../errors.ts'
import { type Caller, callerAudience } from '../sessions/caller.ts'
import { callLogOut, type LogOutScope } from '../sessions/session-repository.ts'

export interface LogOutInput {
  readonly caller: Caller
  /** As asked for; undefined is global. */
  readonly scope: string | undefined
  /** For the audit trail. */
  readonly ip: string
}

const SCOPES: readonly LogOutScope[] = ['global', 'local', 'others']
const REFUSALS = {
  'user-not-found': tokenUserNotFound,
  'user-banned': userBanned,
  'session-not-found': sessionNotFound,
}

/**
 * Ends sessions of the caller (reference: POST /logout). Their access tokens stay good until they expire. May be
 * repeated.
 */
export async function logOut(
  deps: Pick<AuthDeps, 'lanes' | 'config' | 'logger'>,
  { caller, scope = 'global', ip }: LogOutInput,
): Promise<void> {
  const known = SCOPES.find((candidate) => candidate === scope)
  if (known === undefined) throw validationFailed({ message: `Unsupported logout scope "${scope}"` })
  const verdict = await callLogOut(deps.lanes, {
    userId: caller.userId,
    audience: caller.isAdmin ? null : callerAudience(caller, undefined, deps.config.jwt.audience),
    sessionId: caller.sessionId,
    scope: known,
    liveSessionOnly: deps.config.sessions.enforceOnAccessToken,
    ip,
    audit: deps.config.database.auditInPostgres,
  })
  if (verdict !== 'done') throw REFUSALS[verdict]()
  auditToLog(deps, { action: 'logout', actorId: caller.userId, ip })
}
