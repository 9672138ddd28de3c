import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { createSession } from '../sessions/create-session.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { insertUser } from '../users/user-repository.ts'
import type { RequestContext } from './request-context.ts'

export interface AnonymousSignIn {
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/** Makes a user without identifier and signs them in (contract 7.5). */
export function signInAnonymously(deps: AuthDeps, { data, context }: AnonymousSignIn): Promise<IssuedSession> {
  const at = deps.now()
  return deps.db.transaction().execute(async (trx) => {
    const user = await insertUser(trx, {
      aud: context.audience,
      role: deps.config.jwt.defaultRole,
      raw_user_meta_data: { ...data },
      is_anonymous: true,
      created_at: at,
      updated_at: at,
    })
    await recordAudit(trx, deps, {
      action: 'user_signedup',
      actor: user,
      ip: context.ip,
      traits: { provider: 'anonymous' },
    })
    return createSession(trx, deps, user, { ...context, method: 'anonymous' })
  })
}
