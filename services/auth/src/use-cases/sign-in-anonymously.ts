import { randomUUID } from 'node:crypto'
import { auditToLog } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { anonymousDisabled } from '../errors.ts'
import { askBeforeUserCreated } from '../hooks/before-user-created.ts'
import { holdUserCreated } from '../hooks/user-created-job.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken } from '../sessions/refresh-token.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { insertSignUp } from '../sign-ups/sign-up-repository.ts'
import { requireSignUpsEnabled } from '../sign-ups/sign-up-switches.ts'
import { createAnonymousUser } from '../users/unconfirmed-user.ts'

/** What an anonymous sign-in works with. */
export type SignInAnonymouslyDeps = Pick<
  AuthDeps,
  'config' | 'db' | 'lanes' | 'logger' | 'now' | 'randomBytes' | 'rateLimits' | 'jobs' | 'hooks'
>

/** The metadata of the new user, and the request. */
export interface SignInAnonymouslyInput {
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/**
 * Counts a request by the limit of anonymous sign-ins. It was counted as a sign-up before its body was read, so that count is given
 * back first.
 * @param limitKey the key of the client's limits
 * @throws anonymousDisabled, signupDisabled, overRequestRateLimit
 */
export async function checkAnonymousSignIn(
  { config, rateLimits }: Pick<AuthDeps, 'config' | 'rateLimits'>,
  limitKey: string | undefined,
): Promise<void> {
  await rateLimits.giveBack('signup', limitKey)
  if (!config.signup.anonymousEnabled) throw anonymousDisabled()
  await rateLimits.consume('anonymous', limitKey)
  requireSignUpsEnabled(config)
}

/**
 * Creates a user without an identifier, and signs them in (reference: Anonymous users).
 * @throws what `askBeforeUserCreated` throws
 */
export async function signInAnonymously(
  deps: Omit<SignInAnonymouslyDeps, 'rateLimits'>,
  { data, context }: SignInAnonymouslyInput,
): Promise<IssuedSession> {
  const refreshToken = firstRefreshToken(deps.randomBytes(FIRST_TOKEN_BYTES))
  const fresh = {
    userId: randomUUID(),
    audience: context.audience,
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
  if (outcome.verdict !== 'signed-in') throw new Error('a user without an identifier was refused as taken')
  auditToLog(deps, { action: 'user_signedup', actorId: outcome.actorId, ip: context.ip })
  return { ...outcome.session, refreshToken }
}
