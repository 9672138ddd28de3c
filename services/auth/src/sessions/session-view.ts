import { z } from 'zod'
import { type AccessTokenClaims, canFit } from '../access-tokens/access-token.ts'
import { type AuditActor, type AuditDeps, type AuditEvent, recordAudit } from '../audit/audit-log.ts'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { JwtConfig } from '../config/jwt.ts'
import type { SessionConfig } from '../config/sign-in.ts'
import type { Db } from '../database.ts'
import { invalidCredentials } from '../errors.ts'
import { factorAttemptRejected, factorAttemptRejectedWith, passwordAttemptRejected } from '../external-errors.ts'
import type { Factor } from '../factors/factor.ts'
import { callEndSessionWork } from '../flows/flow-repository.ts'
import {
  AttemptVerdict,
  ClaimsAnswer,
  failHook,
  type HookAnswer,
  type Hooks,
  LenientVerdict,
  requireHookAnswer,
} from '../hooks/hooks.ts'
import { announceUser } from '../hooks/user-created-job.ts'
import type { FailedFactorChecks } from '../rate-limits/rate-limits.ts'
import { Metadata, withoutConsoleRole } from '../users/metadata.ts'
import { emailClaims, shownAppMetadata } from '../users/user.ts'
import { lockUserById } from '../users/user-repository.ts'
import { UserView, viewUser } from '../users/user-view.ts'
import { type IssuedSession, nameInError, type StoredSession } from './session.ts'
import { deleteSession, deleteSessionsOfUser } from './session-repository.ts'

/** A session as clients see it (reference: Session object). */
export const SessionView = z
  .object({
    access_token: z.string().meta({ description: 'A signed JWT' }),
    token_type: z.literal('bearer'),
    expires_in: z.int().meta({ description: 'For how many seconds the access token is valid' }),
    expires_at: z.int().meta({ description: 'When the access token expires, in seconds since 1970' }),
    refresh_token: z.string(),
    user: UserView,
  })
  .meta({ id: 'Session' })

export type SessionView = z.output<typeof SessionView>

export interface SessionViewDeps {
  readonly config: {
    readonly compatibility: Pick<
      CompatibilityOptions,
      'keepSentTimesOfChanges' | 'expireTokensAtTimebox' | 'sendSessionHeaders' | 'headBytesMax'
    >
    readonly jwt: JwtConfig
    readonly sessions: SessionConfig
  }
  readonly signingKeys: { sign(claims: object): string }
  readonly now: () => Date
  readonly hooks: Hooks
}

/** The claims of a session's access token before they are signed. Times are seconds since 1970, as in the claims. */
export interface SessionClaims {
  readonly issuedAtSeconds: number
  readonly expiresAtSeconds: number
  readonly claims: object
}

/**
 * Builds the claims, which the hook CUSTOM_ACCESS_TOKEN may change. @param method how the token was obtained, by default the last
 * method of the session
 */
export async function buildClaims(
  deps: SessionViewDeps,
  session: StoredSession,
  method = session.amr[0]?.method ?? '',
): Promise<SessionClaims> {
  const { config, now } = deps
  const issuedAtSeconds = Math.floor(now().getTime() / 1_000)
  const ends = [
    issuedAtSeconds + config.jwt.lifetimeSeconds,
    lowAalEnd(config.sessions, session),
    timeboxEnd(config, session),
  ]
  const expiresAtSeconds = Math.min(...ends)
  const ownClaims = toClaims(session, { issuer: config.jwt.issuer, issuedAtSeconds, expiresAtSeconds })
  const claims = await customiseClaims(deps, ownClaims, method)
  return { issuedAtSeconds, expiresAtSeconds: claims.exp, claims }
}

/**
 * The body of a session that has just begun. If the hook CUSTOM_ACCESS_TOKEN refuses the claims or is unreachable, the session
 * ends immediately. No client has its tokens, but it would count as the newest session of its user.
 */
export async function signNewSession(
  deps: SessionViewDeps & { readonly db: Db },
  session: IssuedSession,
): Promise<SessionView> {
  try {
    return await signSessionView(deps, session)
  } catch (error) {
    await deleteSession(deps.db, session.sessionId)
    throw nameInError(deps.config.compatibility, error, { ...session, userId: session.user.id })
  }
}

/**
 * The body of the first session of a new user. Then calls the hook AFTER_USER_CREATED, if the request must call it. The session
 * ends immediately if either hook refuses or is unreachable.
 */
export async function signFirstSession(
  deps: SessionViewDeps & { readonly db: Db },
  session: IssuedSession,
): Promise<SessionView> {
  const view = await signNewSession(deps, session)
  try {
    await announceUser(deps, session.user.id)
    return view
  } catch (error) {
    await deleteSession(deps.db, session.sessionId)
    throw nameInError(deps.config.compatibility, error, { ...session, userId: session.user.id })
  }
}

/** The body of a session, with a new access token. */
export async function signSessionView(
  deps: SessionViewDeps,
  session: IssuedSession,
  prepared?: SessionClaims,
): Promise<SessionView> {
  const { issuedAtSeconds, expiresAtSeconds, claims } = prepared ?? (await buildClaims(deps, session))
  return {
    access_token: deps.signingKeys.sign(claims),
    token_type: 'bearer',
    expires_in: expiresAtSeconds - issuedAtSeconds,
    expires_at: expiresAtSeconds,
    refresh_token: session.refreshToken,
    user: viewUser(session, deps.config.compatibility),
  }
}

/** When a session without its user's second factor must end, in seconds since 1970. */
function lowAalEnd({ lowAalMs }: SessionConfig, { aal, factors, startedAt }: StoredSession): number {
  const isLow = aal === 'aal1' && factors.some(({ status }) => status === 'verified')
  return isLow && lowAalMs !== undefined ? Math.floor((Date.parse(startedAt) + lowAalMs) / 1_000) : Infinity
}

/** When a session ends whose access tokens end with it, in seconds since 1970. */
function timeboxEnd({ compatibility, sessions }: SessionViewDeps['config'], { startedAt }: StoredSession): number {
  const { enforceOnAccessToken, timeboxMs } = sessions
  if (!compatibility.expireTokensAtTimebox || !enforceOnAccessToken || timeboxMs === undefined) return Infinity
  return Math.floor((Date.parse(startedAt) + timeboxMs) / 1_000)
}

interface TokenTimes {
  /** `undefined` omits the claim. */
  readonly issuer: string | undefined
  /** Seconds since 1970, like `expiresAtSeconds`. */
  readonly issuedAtSeconds: number
  readonly expiresAtSeconds: number
}

function toClaims(
  { user, ...session }: StoredSession,
  { issuer, issuedAtSeconds, expiresAtSeconds }: TokenTimes,
): AccessTokenClaims {
  return {
    iss: issuer,
    sub: user.id,
    aud: user.audience,
    iat: issuedAtSeconds,
    exp: expiresAtSeconds,
    ...emailClaims(user),
    phone: user.phone ?? '',
    app_metadata: shownAppMetadata(user),
    user_metadata: user.userMetadata,
    role: user.role,
    aal: session.aal,
    amr: session.amr,
    session_id: session.sessionId,
    is_anonymous: user.isAnonymous,
  }
}

/** Lets the hook CUSTOM_ACCESS_TOKEN change claims if it is on. @param method a method of `amr`, or `token_refresh` */
async function customiseClaims(
  { hooks, config }: Pick<SessionViewDeps, 'hooks' | 'config'>,
  claims: AccessTokenClaims,
  method: string,
): Promise<{ readonly exp: number }> {
  if (!hooks.isOn('CUSTOM_ACCESS_TOKEN')) return claims
  const payload = { user_id: claims.sub, claims, authentication_method: method }
  const { claims: wanted } = requireHookAnswer(ClaimsAnswer, await hooks.call('CUSTOM_ACCESS_TOKEN', payload))
  // The operator of the hook decides the rights of a token, but not its user. A wrong `sub` would sign in as another user.
  if (wanted.sub !== claims.sub || wanted.session_id !== claims.session_id) {
    failHook(new Error('the hook names another user or session'))
  }
  if (!canFit(config.compatibility, wanted))
    failHook(new Error('with the claims of the hook no token fits into a header'))
  // Services that identify users by email must see that the address is unconfirmed.
  const { email_verified } = claims
  return { ...keepConsoleRole(wanted, claims), ...(email_verified === false && { email_verified }) }
}

/**
 * Returns the claims of a hook with the console role from the database, because a hook must not assign roles. A hook also cannot
 * set `aal` for an operator. Other services trust both claims (console reference: Tokens of operators).
 */
function keepConsoleRole<Claims extends { readonly exp: number; readonly app_metadata?: unknown }>(
  wanted: Claims,
  { app_metadata: { console_role: consoleRole }, aal }: Pick<AccessTokenClaims, 'app_metadata' | 'aal'>,
): Claims {
  const { data: metadata } = Metadata.safeParse(wanted.app_metadata)
  if (consoleRole !== undefined) return { ...wanted, app_metadata: { ...metadata, console_role: consoleRole }, aal }
  return metadata === undefined ? wanted : { ...wanted, app_metadata: withoutConsoleRole(metadata) }
}

/** The dependencies of the attempt hooks. A rejection ends sessions in a separate transaction. */
export interface AttemptHookDeps extends AuditDeps {
  readonly db: Db
  readonly hooks: Hooks
}

interface Attempt {
  /** The entry of the audit log if the attempt fails. */
  readonly failure: AuditEvent & { readonly actor: AuditActor & { readonly id: string } }
}

interface ComparedAttempt extends Attempt {
  readonly isRight: boolean
}

/** An answer to a second factor, and the counters for wrong answers. */
export interface FactorAttempt extends Attempt {
  readonly factor: Pick<Factor, 'id' | 'factorType'>
  readonly failedChecks: FailedFactorChecks
}

/**
 * Reports a compared password, right or wrong, to the hook PASSWORD_VERIFICATION_ATTEMPT, and follows its decision. The caller
 * has recorded a wrong password.
 */
export async function judgePasswordAttempt(deps: AttemptHookDeps, attempt: ComparedAttempt): Promise<void> {
  const { hooks } = deps
  if (!hooks.isOn('PASSWORD_VERIFICATION_ATTEMPT')) return
  const payload = { user_id: attempt.failure.actor.id, valid: attempt.isRight }
  const call = () => hooks.call('PASSWORD_VERIFICATION_ATTEMPT', payload)
  const { decision, message, should_logout_user: isSignedOut } = await askHook(deps, attempt, call)
  if (decision === 'continue') return
  if (isSignedOut) await endSessions(deps, attempt, 'PASSWORD_VERIFICATION_ATTEMPT')
  if (message) throw passwordAttemptRejected({ message })
  refusePassword()
}

/** Refuses a password without a reason. */
export function refusePassword(): never {
  throw invalidCredentials()
}

/**
 * Records a wrong answer to a factor, and reports the answer, right or wrong, to the hook MFA_VERIFICATION_ATTEMPT. A rejection
 * ends all sessions of the user.
 */
export async function judgeFactorAttempt(
  deps: AttemptHookDeps,
  attempt: FactorAttempt & ComparedAttempt,
): Promise<void> {
  const { hooks } = deps
  // Count a wrong answer before the hook is called. It must count for every answer of the hook, and while the hook is running.
  if (!attempt.isRight) await recordWrongFactor(deps, attempt)
  if (!hooks.isOn('MFA_VERIFICATION_ATTEMPT')) return
  const { id: factor_id, factorType: factor_type } = attempt.factor
  const payload = { user_id: attempt.failure.actor.id, factor_id, factor_type, valid: attempt.isRight }
  const { decision, message } = await askHook(deps, attempt, () => hooks.call('MFA_VERIFICATION_ATTEMPT', payload))
  if (decision === 'continue') return
  await endSessions(deps, attempt, 'MFA_VERIFICATION_ATTEMPT')
  throw message ? factorAttemptRejectedWith({ message }) : factorAttemptRejected()
}

/** Counts a wrong answer to a factor and records it in the audit log. */
export async function recordWrongFactor(
  deps: Pick<AttemptHookDeps, 'db' | keyof AuditDeps>,
  { failedChecks, failure }: FactorAttempt,
): Promise<void> {
  await failedChecks.record()
  await recordAudit(deps.db, deps, failure)
}

/** Calls a hook about an attempt. If the hook stops a right password or answer, it is recorded as a failure. */
async function askHook(
  deps: AttemptHookDeps,
  { isRight, failure }: ComparedAttempt,
  call: () => Promise<HookAnswer>,
): Promise<z.output<typeof AttemptVerdict>> {
  const verdict = deps.config.compatibility.continueWithoutHookDecision ? LenientVerdict : AttemptVerdict
  let isStopped = true
  try {
    const answer = requireHookAnswer(verdict, await call())
    isStopped = answer.decision !== 'continue'
    return answer
  } finally {
    if (isRight && isStopped) await recordAudit(deps.db, deps, failure)
  }
}

/** Ends all sessions of a user like a global sign-out, and records which hook requested it. */
async function endSessions(deps: AttemptHookDeps, { failure }: Attempt, hook: string): Promise<void> {
  const { actor, ip } = failure
  await deps.db.transaction().execute(async (trx) => {
    const user = await lockUserById(trx, actor.id)
    if (!user) return
    await deleteSessionsOfUser(trx, user.id)
    await callEndSessionWork(trx, user.id, { scope: 'all' })
    await recordAudit(trx, deps, { action: 'logout', actor: user, ip, traits: { hook } })
  })
}
