import { randomUUID } from 'node:crypto'
import type { Lanes } from '@trestle/database/lanes.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { type AuditDeps, auditToLog } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { anonymousDisabled } from '../errors.ts'
import { askBeforeUserCreated, holdUserCreated } from '../hooks/user-created-job.ts'
import type { RateLimits } from '../rate-limits/rate-limits.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { RandomBytes } from '../secrets/sealed-secret.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken, type IssuedSession } from '../sessions/session.ts'
import { type SessionView, type SessionViewDeps, signFirstSession } from '../sessions/session-view.ts'
import { insertSignUp, requireSignUpsEnabled } from '../sign-ups/sign-up-repository.ts'
import { createAnonymousUser } from '../users/claim-identifier.ts'
import { requireMetadata } from '../users/metadata.ts'

type SignInAnonymouslyDeps = AuditDeps &
  SessionViewDeps & {
    readonly config: AuthConfig
    readonly db: Db
    readonly lanes: Lanes
    readonly randomBytes: RandomBytes
    readonly rateLimits: RateLimits
    readonly jobs: Jobs
  }

/**
 * Creates a user without an identifier, and signs them in (reference: Anonymous users).
 * @throws anonymousDisabled, signupDisabled, overRequestRateLimit, metadataTooLarge, and what `readContext`,
 * `askBeforeUserCreated` and `signFirstSession` throw
 */
export async function signInAnonymously(
  deps: SignInAnonymouslyDeps,
  {
    data,
    limitKey,
    readContext,
  }: {
    readonly data: Readonly<Record<string, unknown>> | undefined
    /** The key of the client's limits. */
    readonly limitKey: string | undefined
    readonly readContext: () => Promise<RequestContext>
  },
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
  { config, rateLimits }: Pick<SignInAnonymouslyDeps, 'config' | 'rateLimits'>,
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
