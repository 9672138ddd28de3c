import { OPERATOR_ROLES, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { decodeJwt } from 'jose'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { FORM_TEXTS } from '../errors.ts'
import { refuse } from '../service-calls/operator-calls.ts'
import { type Refusal, readBody, readRefusal, type SendCall } from '../service-calls/service-call.ts'
import type { Session } from './session-cipher.ts'

/** The answer of auth with a new or refreshed session. */
const AuthSession = z.looseObject({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_at: z.number(),
})

const Claims = z.looseObject({
  sub: z.string(),
  session_id: z.string(),
  aal: z.string().default('aal1'),
  app_metadata: z.looseObject({ console_role: z.enum(OPERATOR_ROLES).nullish() }).default({}),
})

/** The tokens of an auth session, and the claims of the access token. Auth sent the token directly to the console. */
export interface AuthTokens {
  readonly userId: string
  readonly sessionId: string
  readonly accessToken: string
  readonly refreshToken: string
  /** The expiry of the access token, in milliseconds since 1970. */
  readonly expiresAtMs: number
  /** Whether a second factor was used. */
  readonly hasSecondFactor: boolean
  /** `undefined` if the user is not an operator. */
  readonly role: OperatorRole | undefined
}

/** The credentials for a sign-in. */
type Proof =
  | { readonly kind: 'password'; readonly email: string; readonly password: string }
  | { readonly kind: 'link'; readonly tokenHash: string }

/** A successful sign-in, or the reason for its rejection. */
export type SignIn =
  | { readonly kind: 'signed-in'; readonly tokens: AuthTokens }
  | ({ readonly kind: 'refused'; readonly status: 401 | 429 } & Refusal)

/** An authenticator app, or only factors that the console does not support. */
type FoundFactor = { readonly kind: 'app'; readonly id: string } | { readonly kind: 'other' }

/** An authenticator app whose set-up has begun. */
export interface NewFactor {
  readonly id: string
  /** An SVG. */
  readonly qrCode: string
  readonly secret: string
}

/** The calls to auth for sign-ins of operators. `address` is the address of the browser. */
export interface AuthSessions {
  signIn(proof: Proof, address: string): Promise<SignIn>
  /** Returns `undefined` if auth has ended the session. */
  refresh(refreshToken: string, address: string): Promise<AuthTokens | undefined>
  /** Returns `undefined` if the user has no second factor. */
  findFactor(accessToken: string, address: string): Promise<FoundFactor | undefined>
  enrolFactor(accessToken: string, address: string): Promise<NewFactor>
  proveFactor(factorId: string, code: string, caller: FactorCaller): Promise<SignIn>
  signOut(accessToken: string, address: string): Promise<void>
}

export interface FactorCaller {
  readonly accessToken: string
  readonly address: string
}

const TOO_MANY = {
  kind: 'refused',
  status: 429,
  code: 'too_many',
  message: FORM_TEXTS.tooManyAttempts,
} as const

/** The name of factors from this console. A user can have only one factor with a name. */
const FACTOR_NAME = 'Trestle console'

const User = z.looseObject({
  factors: z
    .array(
      z.looseObject({
        id: z.string(),
        factor_type: z.string(),
        status: z.string(),
        friendly_name: z.string().optional(),
      }),
    )
    .default([]),
})
type Factor = z.infer<typeof User>['factors'][number]
const Enrolled = z.looseObject({ id: z.string(), totp: z.looseObject({ qr_code: z.string(), secret: z.string() }) })
const Challenge = z.looseObject({ id: z.string() })

/**
 * Whether a factor was never confirmed. Its secret was shown only once, so an operator who left before typing a code needs a new
 * factor.
 */
const isLeft = ({ status, friendly_name }: Factor) => status === 'unverified' && friendly_name === FACTOR_NAME

/**
 * Creates the calls to auth for sign-ins. They send an operator key of any role, so that auth counts by the address of the
 * browser. Each rejects with the errors of `refuse`, except for wrong credentials, and with the errors of `send`.
 */
export function createAuthSessions(send: SendCall, keys: ReadonlyMap<OperatorRole, string>): AuthSessions {
  const [key = ''] = keys.values()
  const ask = async (method: 'GET' | 'POST' | 'DELETE', path: string, options: AskOptions) => {
    const { body, query, accessToken, address } = options
    const authorization = accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }
    const identified = { 'x-trestle-operator-key': key, 'x-trestle-operator-address': address }
    const headers = { ...identified, ...authorization, 'x-supabase-api-version': '2024-01-01' }
    return send({ service: 'auth', method, path, query, body, headers })
  }
  const expectAnswer = async <T>(schema: z.ZodType<T>, ...asked: Parameters<typeof ask>): Promise<T> => {
    const { status, body } = await ask(...asked)
    if (status >= 300) refuse('auth', { status, body })
    return readBody('auth', schema, body)
  }
  const expectSession = async (...asked: Parameters<typeof ask>): Promise<SignIn> => {
    const { status, body } = await ask(...asked)
    if (status === 429) return TOO_MANY
    if (status >= 300) return { kind: 'refused', status: 401, ...readRefusal(body) }
    return { kind: 'signed-in', tokens: toTokens(readBody('auth', AuthSession, body)) }
  }
  return {
    signIn: ({ kind, ...proof }, address) =>
      kind === 'password'
        ? expectSession('POST', '/token', { query: { grant_type: 'password' }, body: proof, address })
        : expectSession('POST', '/verify', {
            body: { type: 'magiclink', token_hash: 'tokenHash' in proof ? proof.tokenHash : '' },
            address,
          }),
    refresh: async (refreshToken, address) => {
      const body = { refresh_token: refreshToken }
      const answer = await ask('POST', '/token', { query: { grant_type: 'refresh_token' }, body, address })
      // These statuses do not mean that the session has ended: there were too many requests, or parallel ones.
      if (answer.status === 409 || answer.status === 429) refuse('auth', { status: 429, body: undefined })
      if (answer.status >= 300) return answer.status < 400 ? refuse('auth', answer) : undefined
      return toTokens(readBody('auth', AuthSession, answer.body))
    },
    findFactor: async (accessToken, address) => {
      const { factors } = await expectAnswer(User, 'GET', '/user', { accessToken, address })
      return usableFactor(factors)
    },
    enrolFactor: async (accessToken, address) => {
      const { factors } = await expectAnswer(User, 'GET', '/user', { accessToken, address })
      for (const { id } of factors.filter(isLeft))
        await expectAnswer(z.unknown(), 'DELETE', `/factors/${encodeURIComponent(id)}`, { accessToken, address })
      const body = { factor_type: 'totp', friendly_name: FACTOR_NAME, issuer: 'Trestle console' }
      const { id, totp } = await expectAnswer(Enrolled, 'POST', '/factors', { body, accessToken, address })
      return { id, qrCode: totp.qr_code, secret: totp.secret }
    },
    proveFactor: async (factorId, code, caller) => {
      const path = `/factors/${encodeURIComponent(factorId)}`
      const { id } = await expectAnswer(Challenge, 'POST', `${path}/challenge`, { body: {}, ...caller })
      return expectSession('POST', `${path}/verify`, { body: { challenge_id: id, code }, ...caller })
    },
    signOut: async (accessToken, address) => {
      const answer = await ask('POST', '/logout', { query: { scope: 'local' }, body: {}, accessToken, address })
      // Auth has already ended the session.
      if (answer.status >= 300 && answer.status !== 401 && answer.status !== 403) refuse('auth', answer)
    },
  }
}

/** Returns the authenticator app of an operator, or whether only unsupported factors exist. */
function usableFactor(factors: readonly Factor[]): Awaited<ReturnType<AuthSessions['findFactor']>> {
  const verified = factors.filter(({ status }) => status === 'verified')
  const app = verified.find(({ factor_type }) => factor_type === 'totp')
  if (app !== undefined) return { kind: 'app', id: app.id }
  return verified.length > 0 ? { kind: 'other' } : undefined
}

interface AskOptions {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, unknown>>
  readonly accessToken?: string
  readonly address: string
}

function toTokens({ access_token, refresh_token, expires_at }: z.infer<typeof AuthSession>): AuthTokens {
  const { sub, session_id, aal, app_metadata } = Claims.parse(decodeJwt(access_token))
  return {
    userId: sub,
    sessionId: session_id,
    accessToken: access_token,
    refreshToken: refresh_token,
    expiresAtMs: expires_at * 1_000,
    hasSecondFactor: aal === 'aal2',
    role: app_metadata.console_role ?? undefined,
  }
}

/** The access token of a session, and the newest refresh token in this process. */
export interface Tokens extends AuthTokens {
  readonly generation: number
}

/** The access tokens of all sessions, in memory. */
export interface AccessTokens {
  /**
   * Returns the tokens of a session. Refreshes an access token that is about to expire, once for all concurrent requests. Returns
   * `undefined` if auth has ended the session, or if its cookie is older than the second factor. Rejects with serviceUnavailable
   * if auth does not answer.
   */
  find(session: Session, address: string): Promise<Tokens | undefined>
  keep(tokens: Tokens): void
  forget(sessionId: string): void
}

/** The least remaining lifetime in milliseconds. Below it, the token could expire before it arrives. */
const MARGIN_MS = 20_000
/** Beyond this number, a session loses its access token and is refreshed at its next request. */
const SESSIONS_MAX = 10_000
const ENDED_MAX = 10_000

export function createAccessTokens(auth: Pick<AuthSessions, 'refresh'>, now: () => Date): AccessTokens {
  const kept = new LRUCache<string, Tokens>({ max: SESSIONS_MAX })
  const refreshing = new Map<string, Promise<Tokens | undefined>>()
  // Auth does not limit refreshes of a console. Remember rejected tokens, so that repeated old cookies do not reach auth.
  const ended = new LRUCache<string, true>({ max: ENDED_MAX })
  const refresh = async (session: Session, address: string) => {
    const { id, refreshToken, generation } = session
    const made = ended.has(refreshToken) ? undefined : await auth.refresh(refreshToken, address)
    // In the profile supabase, auth accepts a refresh token from before the second factor until the next token is used.
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
      // A cookie from before the second factor must not share the refresh of a stepped-up session.
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
 * Returns the session with its newest refresh token. Another process of the console may have replaced the refresh token of this
 * process, and auth would treat the older token as stolen. An older access token stays valid until it expires. Therefore
 * processes that serve a session in turn do not refresh it at each request.
 */
function newerOf(session: Session, tokens: Tokens | undefined) {
  if (tokens === undefined || isRaised(session, tokens)) return { session, tokens: undefined }
  if (tokens.generation < session.generation) {
    const { refreshToken, generation } = session
    return { session, tokens: { ...tokens, refreshToken, generation } }
  }
  return { session: { ...session, refreshToken: tokens.refreshToken, generation: tokens.generation }, tokens }
}

/** Whether the cookie was copied before the second factor. Auth has replaced its refresh token since then. */
function isOfBeforeFactor({ hasSecondFactor }: Session, tokens: AuthTokens): boolean {
  return tokens.hasSecondFactor && hasSecondFactor !== true
}

/** Whether another process has stepped up the session. The access token of this process does not show it. */
function isRaised({ hasSecondFactor, generation }: Session, tokens: Tokens): boolean {
  return hasSecondFactor === true && !tokens.hasSecondFactor && tokens.generation <= generation
}
