import { LRUCache } from 'lru-cache'
import type { AuthSessions, AuthTokens } from './auth-session.ts'
import type { Session } from './session-seal.ts'

/** The access token of a session, and the newest refresh token that this process knows. */
export interface Tokens extends AuthTokens {
  readonly generation: number
}

/** The access tokens of all sessions, in memory. */
export interface AccessTokens {
  /**
   * The tokens of a session. Refreshes an access token that is about to expire, once for all requests of the session.
   * Undefined: auth has ended the session, or its cookie is of before the second factor. Rejects with serviceAway while auth
   * does not answer.
   */
  find(session: Session, address: string): Promise<Tokens | undefined>
  /** Keeps the tokens of a sign-in. */
  keep(tokens: Tokens): void
  forget(sessionId: string): void
}

/** A token that lives no longer than this, in milliseconds, is refreshed: it could expire on its way. */
const MARGIN_MS = 20_000
/** A session beyond this many loses its access token, and refreshes at its next request. */
const SESSIONS_MAX = 10_000
const ENDED_MAX = 10_000

/** Makes the memory of access tokens. */
export function createAccessTokens(auth: Pick<AuthSessions, 'refresh'>, now: () => Date): AccessTokens {
  const kept = new LRUCache<string, Tokens>({ max: SESSIONS_MAX })
  const refreshing = new Map<string, Promise<Tokens | undefined>>()
  // Auth does not limit the refreshes of a console, so an old cookie that is sent again and again must not reach it.
  const ended = new LRUCache<string, true>({ max: ENDED_MAX })
  const refresh = async (session: Session, address: string) => {
    const { id, refreshToken, generation } = session
    const made = ended.has(refreshToken) ? undefined : await auth.refresh(refreshToken, address)
    // In the profile supabase, auth takes a refresh token from before the second factor until the next one is used.
    if (made === undefined || isOfBeforeFactor(session, made)) {
      ended.set(refreshToken, true)
      kept.delete(id)
      return undefined
    }
    const tokens = { ...made, generation: generation + 1 }
    kept.set(id, tokens)
    return tokens
  }
  return {
    find: async (session, address) => {
      const known = kept.get(session.id)
      if (known !== undefined && isOfBeforeFactor(session, known)) return undefined
      const newest = newerOf(session, known)
      if (newest.tokens !== undefined && newest.tokens.expiresAtMs - now().getTime() > MARGIN_MS) return newest.tokens
      // A cookie of before the second factor has no part in a refresh of the session that was raised since.
      const key = `${session.id} ${session.hasSecondFactor === true}`
      const running = refreshing.get(key)
      if (running !== undefined) return running
      const started = refresh(newest.session, address).finally(() => refreshing.delete(key))
      refreshing.set(key, started)
      return started
    },
    keep: (tokens) => void kept.set(tokens.sessionId, tokens),
    forget: (sessionId) => void kept.delete(sessionId),
  }
}

/**
 * The session with the newest refresh token. Another process of the console may have replaced the one that
 * this process knows: auth would take the older one for stolen. An access token of before counts until it
 * expires, so that processes in turn do not refresh at each request.
 */
function newerOf(session: Session, tokens: Tokens | undefined) {
  if (tokens === undefined || isRaised(session, tokens)) return { session, tokens: undefined }
  if (tokens.generation < session.generation) {
    const { refreshToken, generation } = session
    return { session, tokens: { ...tokens, refreshToken, generation } }
  }
  return { session: { ...session, refreshToken: tokens.refreshToken, generation: tokens.generation }, tokens }
}

/** Whether the cookie is a copy from before the second factor was shown. Auth has replaced its refresh token since. */
function isOfBeforeFactor({ hasSecondFactor }: Session, tokens: AuthTokens): boolean {
  return tokens.hasSecondFactor && hasSecondFactor !== true
}

/** Whether another process has raised the session by a second factor, which the access token of this process does not show. */
function isRaised({ hasSecondFactor, generation }: Session, tokens: Tokens): boolean {
  return hasSecondFactor === true && !tokens.hasSecondFactor && tokens.generation <= generation
}
