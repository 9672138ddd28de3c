import { randomUUID } from 'node:crypto'
import type { Pools } from '@trestle/database/pools.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { type AuditDeps, auditToLog } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { anonymousDisabled, emailSignupsDisabled, phoneSignupsDisabled } from '../errors.ts'
import { type PkceChallenge, parsePkce } from '../flows/pkce.ts'
import { askBeforeUserCreated, holdUserCreated } from '../hooks/user-created-job.ts'
import { type CreateSignUpDeps, createSignUp } from '../message-requests/create-sign-up.ts'
import { requireChannel } from '../messages/message-request.ts'
import type { SmsChannel } from '../messages/sms-gateway.ts'
import { type NewPasswordRules, requireNewPassword } from '../passwords/hash-new-password.ts'
import { requireSignUpPassword } from '../passwords/password-policy.ts'
import type { RateLimits } from '../rate-limits/rate-limits.ts'
import { pkceAtPhoneSignUp, twoAddressesAtSignUp } from '../request-errors.ts'
import type { UserIdentifier } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'
import { FIRST_TOKEN_BYTES, firstRefreshToken, hashRefreshToken, type IssuedSession } from '../sessions/session.ts'
import { type SessionView, type SessionViewDeps, signFirstSession } from '../sessions/session-view.ts'
import { insertSignUp, requireSignUpsEnabled } from '../sign-ups/sign-up-repository.ts'
import { createAnonymousUser, type UnconfirmedUser } from '../users/claim-identifier.ts'
import { requireMetadata } from '../users/metadata.ts'
import { requireIdentifier } from '../users/require-phone.ts'

export type SignUpDeps = CreateSignUpDeps & SessionViewDeps & NewPasswordRules

/** The members of a sign-up request. Empty members count as absent. */
export interface SignUpFields {
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly password?: string | undefined
  readonly channel?: string | undefined
  readonly data?: Readonly<Record<string, unknown>> | undefined
  readonly code_challenge?: string | undefined
  readonly code_challenge_method?: string | undefined
}

/** A session if no confirmation is needed, otherwise a user record that reveals nothing about an existing account. */
type SignUpResult =
  | { readonly verdict: 'signed-in'; readonly session: SessionView }
  | ({ readonly verdict: 'confirm' } & UnconfirmedUser)

/** Signs a user up by email or phone (reference: POST /signup). */
export async function signUp(
  deps: SignUpDeps,
  { fields, readContext }: { readonly fields: SignUpFields; readonly readContext: () => Promise<RequestContext> },
): Promise<SignUpResult> {
  const checked = await checkSignUp(deps, fields)
  const data = requireMetadata(deps.config, fields.data)
  const created = await createSignUp(deps, { ...checked, data, context: await readContext() })
  if (created.verdict === 'confirm') return created
  return { verdict: 'signed-in', session: await signFirstSession(deps, created.session) }
}

interface CheckedSignUp {
  readonly identifier: UserIdentifier
  /** A password that meets the policy. */
  readonly password: string
  readonly pkce: PkceChallenge | undefined
  readonly channel: SmsChannel
}

/** Checks the members of a request (reference: POST /signup). The order of the checks decides which error a client gets. */
async function checkSignUp(
  deps: Pick<SignUpDeps, 'config' | 'db' | 'logger' | 'outbound'>,
  fields: SignUpFields,
): Promise<CheckedSignUp> {
  const { signup, sms } = deps.config
  const { email, phone } = fields
  requireSignUpsEnabled(deps.config)
  const password = requireSignUpPassword(fields.password)
  await requireNewPassword(deps, password)
  if (email && phone) throw twoAddressesAtSignUp()
  const channel = phone ? requireChannel(sms.provider, fields.channel) : 'sms'
  const hasPkce = Boolean(fields.code_challenge || fields.code_challenge_method)
  if (phone && hasPkce) throw pkceAtPhoneSignUp()
  const pkce = parsePkce(fields, signup.pkce)
  if (email && !signup.emailEnabled) throw emailSignupsDisabled()
  if (phone && !signup.phoneEnabled) throw phoneSignupsDisabled()
  return { identifier: await requireIdentifier(deps, fields), password, pkce, channel }
}

type SignInAnonymouslyDeps = AuditDeps &
  SessionViewDeps & {
    readonly config: AuthConfig
    readonly db: Db
    readonly pools: Pools
    readonly randomBytes: RandomBytes
    readonly rateLimits: RateLimits
    readonly jobs: Jobs
  }

/** Creates a user without an identifier, and signs the user in (reference: Anonymous users). */
export async function signInAnonymously(
  deps: SignInAnonymouslyDeps,
  {
    data,
    limitKey,
    readContext,
  }: {
    readonly data: Readonly<Record<string, unknown>> | undefined
    /** The key of the client's rate limits. */
    readonly limitKey: string | undefined
    readonly readContext: () => Promise<RequestContext>
  },
): Promise<SessionView> {
  await checkAnonymousSignIn(deps, limitKey)
  const context = await readContext()
  const session = await createAnonymous(deps, { data: requireMetadata(deps.config, data), context })
  return signFirstSession(deps, session)
}

/** The request was counted as a sign-up before its body was read. Gives that count back first. */
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
  const outcome = await insertSignUp(deps.pools, {
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
