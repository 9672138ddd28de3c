import { randomUUID } from 'node:crypto'
import { auditToLog } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { anonymousDisabled } from '../errors.ts'
import { askBeforeUserCreated } from '../hooks/before-user-created.ts'
import { holdUserCreated } from '../hooks/user-created-job.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken } from '../sessions/refresh-token.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { type SessionView, signFirstSession } from '../sessions/session-view.ts'
import { insertSignUp } from '../sign-ups/sign-up-repository.ts'
import { requireSignUpsEnabled } from '../sign-ups/sign-up-switches.ts'
import { requireMetadata } from '../users/metadata.ts'
import { createAnonymousUser } from '../users/unconfirmed-user.ts'

type SignInAnonymouslyDeps = Pick<
  AuthDeps,
  'config' | 'db' | 'lanes' | 'logger' | 'now' | 'randomBytes' | 'rateLimits' | 'jobs' | 'hooks' | 'signingKeys'
>

/** A request for a new user. Its context is read after the first checks, since reading may refuse the request too. */
export interface SignInAnonymouslyInput {
  readonly data: Readonly<Record<string, unknown>> | undefined
  /** The key of the client's limits. */
  readonly limitKey: string | undefined
  readonly readContext: () => Promise<RequestContext>
}

/**
 * Creates a user without an identifier, and signs them in (reference: Anonymous users).
 * @throws anonymousDisabled, signupDisabled, overRequestRateLimit, metadataTooLarge, and what `readContext`,
 * `askBeforeUserCreated` and `signFirstSession` throw
 */
export async function signInAnonymously(
  deps: SignInAnonymouslyDeps,
  { data, limitKey, readContext }: SignInAnonymouslyInput,
): Promise<SessionView> {
  await checkAnonymousSignIn(deps, limitKey)
  const context = await readContext()
  const session = await createAnonymous(deps, { data: requireMetadata(deps.config, data), context })
  return signFirstSession(deps, session)
}

/**
 * Counts a request by the limit of anonymous sign-ins. It was counted as a sign-up before its body was read,
 * so that count is given back first.
 * @throws anonymousDisabled, signupDisabled, overRequestRateLimit
 */
async function checkAnonymousSignIn(
  { config, rateLimits }: Pick<AuthDeps, 'config' | 'rateLimits'>,
  limitKey: string | undefined,
): Promise<void> {
  await rateLimits.giveBack('signup', limitKey)
  if (!config.signup.anonymousEnabled) throw anonymousDisabled()
  await rateLimits.consume('anonymous', limitKey)
  requireSignUpsEnabled(config)
}

async function createAnonymous(
  deps: Omit<SignInAnonymouslyDeps, 'rateLimits' | 'signingKeys'>,
  { data, context }: { readonly data: Readonly<Record<string, unknown>>; readonly context: RequestContext },
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
