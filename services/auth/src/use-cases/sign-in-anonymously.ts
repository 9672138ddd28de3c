import { randomUUID } from 'node:crypto'
import { auditToLog } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { askBeforeUserCreated } from '../hooks/before-user-created.ts'
import { holdUserCreated } from '../hooks/user-created-job.ts'
import type { RequestContext } from '../request-context.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken } from '../sessions/refresh-token.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { insertSignUp } from '../sign-ups/sign-up-repository.ts'
import { createAnonymousUser } from '../users/unconfirmed-user.ts'

type SignInAnonymouslyDeps = Pick<
  AuthDeps,
  'config' | 'db' | 'lanes' | 'logger' | 'now' | 'randomBytes' | 'jobs' | 'hooks'
>

export interface AnonymousSignIn {
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/** Creates a user without an identifier, and signs them in (reference: Anonymous users). */
export async function signInAnonymously(
  deps: SignInAnonymouslyDeps,
  { data, context }: AnonymousSignIn,
): Promise<IssuedSession> {
  const refreshToken = firstRefreshToken(deps.randomBytes(FIRST_TOKEN_BYTES))
  const fresh = {
    userId: randomUUID(),
    aud: context.audience,
    role: deps.config.jwt.defaultRole,
    data,
    now: deps.now(),
  }
  await askBeforeUserCreated(deps, createAnonymousUser(fresh), context.ip)
  await holdUserCreated(deps, { userId: fresh.userId, ip: context.ip })
  const outcome = await insertSignUp(deps.lanes, {
    ...fresh,
    identityId: randomUUID(),
    email: null,
    phone: null,
    passwordHash: null,
    identityData: {},
    confirmation: undefined,
    tokenHash: hashRefreshToken(refreshToken),
    userAgent: context.userAgent,
    ip: context.ip,
    audit: deps.config.database.auditInPostgres,
  })
  if (outcome.verdict !== 'signed-in') throw new Error('somebody else was anonymous')
  auditToLog(deps, { action: 'user_signedup', actorId: outcome.actorId, ip: context.ip })
  return { ...outcome.session, refreshToken }
}
