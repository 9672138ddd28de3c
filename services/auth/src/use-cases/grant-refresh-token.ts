import type { Counter } from '@opentelemetry/api'
import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { type AuditDeps, auditToLog } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import {
  refreshTokenAlreadyUsed,
  refreshTokenNotFound,
  refreshUserBanned,
  sessionExpired,
  sessionInactive,
  sessionLowAal,
  sessionSuperseded,
  tooManyRefreshes,
} from '../errors.ts'
import { oauthClientRequired, refreshTokenMalformed } from '../request-errors.ts'
import type { EncryptionKeys } from '../secrets/encrypted-secret.ts'
import {
  type RefreshRefusal,
  type RefreshResult,
  type RefreshSession,
  type ReuseDeps,
  type ReuseOutcome,
  reuseRefreshToken,
} from '../sessions/refresh-session.ts'
import {
  deriveChildToken,
  hashRefreshToken,
  isUpstreamAncestor,
  nameInError,
  parseUpstreamToken,
  REFRESH_TOKEN_PATTERN,
  type SessionOrigin,
  type StoredSession,
} from '../sessions/session.ts'
import { findSessionOfToken, findUpstreamSession, insertAncestor } from '../sessions/session-repository.ts'
import {
  buildClaims,
  type SessionClaims,
  type SessionView,
  type SessionViewDeps,
  signSessionView,
} from '../sessions/session-view.ts'

export interface GrantRefreshTokenInput extends SessionOrigin {
  readonly refreshToken: string | undefined
}

export interface RefreshedSession {
  readonly session: SessionView
  /** `false` if the client gets a refresh token that it may already have. */
  readonly isNewToken: boolean
}

export type GrantRefreshTokenDeps = AuditDeps &
  SessionViewDeps &
  ReuseDeps & {
    readonly config: AuthConfig
    readonly encryptionKeys: EncryptionKeys
    readonly refreshSession: RefreshSession
    readonly tokenReuse: Counter
  }

/** Exchanges a refresh token for the next one and a new access token (reference: Refresh tokens). */
export async function grantRefreshToken(
  deps: GrantRefreshTokenDeps,
  input: GrantRefreshTokenInput,
): Promise<RefreshedSession> {
  const parent = input.refreshToken ?? ''
  if (!REFRESH_TOKEN_PATTERN.test(parent)) throw refreshTokenMalformed()
  const tokenHash = hashRefreshToken(parent)
  const claims = await prepareClaims(deps, tokenHash)
  const { result, child } = await exchangeToken(deps, parent, input)
  countReuse(deps, result)
  logEvents(deps, result, input.ip)
  if (!isExchanged(result)) return refuseRefresh(deps, result.verdict, tokenHash)
  const session = { ...result.session, refreshToken: child }
  return {
    session: await signSessionView(deps, session, claims ?? (await buildClaims(deps, session, METHOD))),
    isNewToken: result.verdict !== 'reused',
  }
}

/** Exchanges an unused token. Asks the database whether a used one is allowed too, if the profile may allow it. */
async function exchangeToken(
  deps: Pick<GrantRefreshTokenDeps, 'config' | 'encryptionKeys' | 'pools' | 'refreshSession' | 'refreshTokenKey'>,
  token: string,
  { userAgent, ip }: SessionOrigin,
): Promise<ReuseOutcome> {
  const child = deriveChildToken(deps.refreshTokenKey, token)
  const hashes = { tokenHash: hashRefreshToken(token), childHash: hashRefreshToken(child) }
  const refresh = () => deps.refreshSession({ userAgent, ip, ...hashes })
  let result = await refresh()
  if (result.verdict === 'token-not-found' && (await storeAncestor(deps, token))) result = await refresh()
  if (result.verdict !== 'stolen' || !deps.config.compatibility.acceptSpentParentUntilChildIsUsed)
    return { result, child }
  return reuseRefreshToken(deps, { token, userAgent, ip })
}

/**
 * Stores a used token of the second form of supabase/auth, because an adoption copies only the two newest tokens of a session.
 * The token is then treated like any other used token, because a client that sends it may have stolen it. @returns whether the
 * token has this form
 */
async function storeAncestor(
  { encryptionKeys, pools }: Pick<GrantRefreshTokenDeps, 'encryptionKeys' | 'pools'>,
  token: string,
): Promise<boolean> {
  const named = parseUpstreamToken(token)
  const session = named && (await findUpstreamSession(pools, named.sessionId))
  if (!session || !isUpstreamAncestor(encryptionKeys, session, token)) return false
  await insertAncestor(pools, { sessionId: session.id, tokenHash: hashRefreshToken(token) })
  return true
}

function isExchanged(result: RefreshResult): result is Extract<RefreshResult, { readonly session: StoredSession }> {
  return 'session' in result
}

/** The `authentication_method` of a refresh in the hook CUSTOM_ACCESS_TOKEN (reference: Access tokens). */
const METHOD = 'token_refresh'

/**
 * Calls the hook, if enabled, before the token is used up. Otherwise, a client that repeats its request after an outage of the
 * hook, longer than the reuse interval, would look like an attacker.
 */
async function prepareClaims(
  deps: Pick<GrantRefreshTokenDeps, 'config' | 'pools' | 'now' | 'signingKeys' | 'hooks'>,
  tokenHash: Buffer,
): Promise<SessionClaims | undefined> {
  if (!deps.hooks.isOn('CUSTOM_ACCESS_TOKEN')) return undefined
  const session = await findSessionOfToken(deps.pools, tokenHash)
  if (!session) return undefined
  return buildClaims(deps, session, METHOD).catch((error: unknown) => {
    throw nameInError(deps.config.compatibility, error, { userId: session.user.id, sessionId: session.sessionId })
  })
}

/** Refuses a refresh. The answer contains the token's session if the profile reveals sessions. */
async function refuseRefresh(
  { config, pools }: Pick<GrantRefreshTokenDeps, 'config' | 'pools'>,
  verdict: RefreshRefusal,
  tokenHash: Buffer,
): Promise<never> {
  const refusal = refusalOf(verdict)
  const isNamed = config.compatibility.sendSessionHeaders && verdict !== 'busy'
  const session = isNamed ? await findSessionOfToken(pools, tokenHash) : undefined
  if (!session) throw refusal
  const sessionId = verdict === 'user-banned' ? undefined : session.sessionId
  throw nameInError(config.compatibility, refusal, { userId: session.user.id, sessionId })
}

function refusalOf(verdict: RefreshRefusal): HttpError {
  switch (verdict) {
    case 'token-not-found':
      return refreshTokenNotFound()
    case 'user-banned':
      return refreshUserBanned()
    case 'session-expired':
      return sessionExpired()
    case 'session-inactive':
      return sessionInactive()
    case 'session-low-aal':
      return sessionLowAal()
    case 'client-required':
      return oauthClientRequired()
    case 'session-superseded':
      return sessionSuperseded()
    case 'stolen':
      return refreshTokenAlreadyUsed()
    case 'busy':
      return tooManyRefreshes()
  }
}

/** Logs the events that the SQL function records in the database. */
function logEvents(deps: Pick<GrantRefreshTokenDeps, 'config' | 'logger'>, result: RefreshResult, ip: string): void {
  if (isExchanged(result)) auditToLog(deps, { action: 'token_refreshed', actorId: result.session.user.id, ip })
  if (result.verdict === 'rotated' || result.verdict === 'branched')
    auditToLog(deps, { action: 'token_revoked', actorId: result.session.user.id, ip })
  if (result.verdict === 'stolen' && deps.config.sessions.revokeFamilyOnReuse) {
    auditToLog(deps, { action: 'token_revoked', actorId: result.userId, ip })
  }
}

function countReuse({ tokenReuse }: Pick<GrantRefreshTokenDeps, 'tokenReuse'>, { verdict }: RefreshResult): void {
  if (verdict === 'reused' || verdict === 'branched') tokenReuse.add(1, { outcome: 'allowed' })
  if (verdict === 'stolen') tokenReuse.add(1, { outcome: 'revoked' })
}
