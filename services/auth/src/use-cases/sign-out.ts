import type { Pools } from '@trestle/database/pools.ts'
import { type AuditDeps, auditToLog } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { logoutScopeUnsupported } from '../request-errors.ts'
import { refuseLostUser } from '../sessions/active-caller.ts'
import { refuseMissingSession } from '../sessions/session.ts'
import { deleteSessionsInScope, type SignOutScope, type SignOutVerdict } from '../sessions/session-repository.ts'
import { callerAudience, type TokenUser } from '../sessions/token-user.ts'
import { refuseBanned } from '../users/user.ts'

const SCOPES: readonly SignOutScope[] = ['global', 'local', 'others']

/** Ends the caller's sessions (reference: POST /logout). Access tokens stay valid until they expire. May be repeated. */
export async function signOut(
  deps: Pick<AuditDeps, 'logger'> & { readonly db: Db; readonly pools: Pools; readonly config: AuthConfig },
  {
    caller,
    scope = 'global',
    ip,
  }: {
    readonly caller: TokenUser
    /** As in the request. `undefined` means global. */
    readonly scope: string | undefined
    readonly ip: string
  },
): Promise<void> {
  const known = SCOPES.find((candidate) => candidate === scope)
  if (known === undefined) throw logoutScopeUnsupported({ scope })
  const { compatibility } = deps.config
  const verdict = await deleteSessionsInScope(deps.pools, {
    userId: caller.userId,
    audience:
      caller.isAdmin || compatibility.acceptTokenAudience === 'any'
        ? null
        : callerAudience(caller, undefined, deps.config.jwt.audience),
    sessionId: caller.sessionId,
    scope: known,
    liveSessionOnly: deps.config.sessions.enforceOnAccessToken,
    ip,
    audit: deps.config.database.auditInPostgres,
  })
  if (verdict === 'user-not-found') return refuseLostUser(deps, caller)
  if (verdict !== 'done') refuseSignOut(verdict)
  auditToLog(deps, { action: 'logout', actorId: caller.userId, ip })
}

function refuseSignOut(verdict: Exclude<SignOutVerdict, 'done' | 'user-not-found'>): never {
  switch (verdict) {
    case 'user-banned':
      return refuseBanned()
    case 'session-not-found':
      return refuseMissingSession()
  }
}
