import { z } from 'zod'
import type { AccessTokenClaims } from '../access-tokens/access-token.ts'
import { canFit } from '../access-tokens/token-size.ts'
import type { Behaviours } from '../config/behaviours.ts'
import type { JwtConfig } from '../config/jwt.ts'
import type { SessionConfig } from '../config/sessions.ts'
import type { Db } from '../database.ts'
import { ClaimsAnswer, failHook, requireHookAnswer } from '../hooks/hook-answer.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { announceUser } from '../hooks/user-created-job.ts'
import { Metadata, withoutConsoleRole } from '../users/metadata.ts'
import { emailClaims, shownAppMetadata } from '../users/user.ts'
import { UserView, viewUser } from '../users/user-view.ts'
import { nameInError } from './name-in-error.ts'
import type { IssuedSession, StoredSession } from './session.ts'
import { deleteSession } from './session-repository.ts'

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

/** The body of a session, as every sign-in and refresh answers it. */
export type SessionView = z.output<typeof SessionView>

/** The settings, the signing key, the clock and the hook that make an access token. */
export interface SessionViewDeps {
  readonly config: {
    readonly behaviours: Pick<
      Behaviours,
      'keepSentTimesOfChanges' | 'expireTokensAtTimebox' | 'sendSessionHeaders' | 'headBytesMax'
    >
    readonly jwt: JwtConfig
    readonly sessions: SessionConfig
  }
  readonly signingKeys: { sign(claims: object): string }
  readonly now: () => Date
  readonly hooks: Hooks
}

/** The claims of a session's access token, before they are signed. Times are epoch seconds, as the claims hold them. */
export interface SessionClaims {
  readonly issuedAtSeconds: number
  readonly expiresAtSeconds: number
  readonly claims: object
}

/**
 * Builds the claims of a session's access token. The hook CUSTOM_ACCESS_TOKEN may change them.
 * @param method how the token was obtained: by default, how the session was last proven
 * @throws hookFailed when the hook names another user or session, hookRejected, hookTimeout, hookTimeoutAfterRetry,
 * hookAnswerTooLong, hookAnswerNoJson
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
 * The body of a session that has just begun. A session whose claims the hook CUSTOM_ACCESS_TOKEN refuses, or whose hook cannot be
 * reached, ends at once: nobody has its tokens, and it would count as the newest session of its user.
 * @throws hookFailed, hookRejected, hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson
 */
export async function signNewSession(
  deps: SessionViewDeps & { readonly db: Db },
  session: IssuedSession,
): Promise<SessionView> {
  try {
    return await signSessionView(deps, session)
  } catch (error) {
    await deleteSession(deps.db, session.sessionId)
    throw nameInError(deps.config.behaviours, error, { ...session, userId: session.user.id })
  }
}

/**
 * The body of the first session of a user who has just been made. Then calls the hook AFTER_USER_CREATED, where the request calls
 * it. The session ends at once where either hook refuses or cannot be reached.
 * @throws hookRejected, hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson, hookFailed
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
    throw nameInError(deps.config.behaviours, error, { ...session, userId: session.user.id })
  }
}

/**
 * The body of a session, with a new access token.
 * @throws hookFailed, hookRejected, hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson
 */
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
    user: viewUser(session, deps.config.behaviours),
  }
}

/** When a session that lacks the second factor of its user must end, in epoch seconds. */
function lowAalEnd({ lowAalMs }: SessionConfig, { aal, factors, startedAt }: StoredSession): number {
  const isLow = aal === 'aal1' && factors.some(({ status }) => status === 'verified')
  return isLow && lowAalMs !== undefined ? Math.floor((Date.parse(startedAt) + lowAalMs) / 1_000) : Infinity
}

/** When a session ends whose access tokens end with it, in epoch seconds. */
function timeboxEnd({ behaviours, sessions }: SessionViewDeps['config'], { startedAt }: StoredSession): number {
  const { enforceOnAccessToken, timeboxMs } = sessions
  if (!behaviours.expireTokensAtTimebox || !enforceOnAccessToken || timeboxMs === undefined) return Infinity
  return Math.floor((Date.parse(startedAt) + timeboxMs) / 1_000)
}

interface TokenTimes {
  /** Undefined leaves the claim out. */
  readonly issuer: string | undefined
  /** Epoch seconds, as `expiresAtSeconds`. */
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

/**
 * Lets the hook CUSTOM_ACCESS_TOKEN change the claims of an access token, where the hook is on.
 * @param method how the client got the token: a method of `amr`, or `token_refresh`
 * @throws hookFailed, hookRejected, hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson
 */
async function customiseClaims(
  { hooks, config }: Pick<SessionViewDeps, 'hooks' | 'config'>,
  claims: AccessTokenClaims,
  method: string,
): Promise<{ readonly exp: number }> {
  if (!hooks.isOn('CUSTOM_ACCESS_TOKEN')) return claims
  const payload = { user_id: claims.sub, claims, authentication_method: method }
  const { claims: wanted } = requireHookAnswer(ClaimsAnswer, await hooks.call('CUSTOM_ACCESS_TOKEN', payload))
  // The operator decides what a token permits, but not whose token it is: a wrong `sub` would sign people in as others.
  if (wanted.sub !== claims.sub || wanted.session_id !== claims.session_id) {
    failHook(new Error('the hook names another user or session'))
  }
  if (!canFit(config.behaviours, wanted)) failHook(new Error('with the claims of the hook no token fits into a header'))
  // Services for which the email is an identity must see that nobody has confirmed it.
  const { email_verified } = claims
  return { ...keepConsoleRole(wanted, claims), ...(email_verified === false && { email_verified }) }
}

/**
 * The claims of a hook, with the console role of the database: a hook gives nobody a role. Of an operator it does not say either
 * that they have shown a second factor. Other services believe both (console reference: Tokens of operators).
 */
function keepConsoleRole<Claims extends { readonly exp: number; readonly app_metadata?: unknown }>(
  wanted: Claims,
  { app_metadata: { console_role: consoleRole }, aal }: Pick<AccessTokenClaims, 'app_metadata' | 'aal'>,
): Claims {
  const { data: metadata } = Metadata.safeParse(wanted.app_metadata)
  if (consoleRole !== undefined) return { ...wanted, app_metadata: { ...metadata, console_role: consoleRole }, aal }
  return metadata === undefined ? wanted : { ...wanted, app_metadata: withoutConsoleRole(metadata) }
}
