import cookie from '@fastify/cookie'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import { formRefused } from '../errors.ts'
import type { AuthTokens, Tokens } from '../sessions/auth-session.ts'
import { isOver, type Session } from '../sessions/session-cipher.ts'

/** The fields of every form of a session. */
export const FormBody = z.object({ _csrf: z.string(), _key: z.string().min(1).max(255) })

/** Reads and writes the cookie of a session, and accepts forms only from pages of the console. */
export const browserSession = fp(
  async (app) => {
    await app.register(cookie)
    app.addHook('onRequest', async (request) => {
      if (request.method !== 'GET' && request.method !== 'HEAD' && !request.is404) requireOwnOrigin(request)
    })
  },
  { name: 'browser-session' },
)

/**
 * A browser names the page whose form it sends. Neither another site nor another host of this site may send forms.
 * @throws formRefused
 */
function requireOwnOrigin({ headers, server }: FastifyRequest): void {
  const named = headers.origin ?? URL.parse(String(headers.referer ?? ''))?.origin
  requireOwn(named === server.deps.config.origin)
}

/**
 * Whether a page of another site, or of another host of this site, has led the browser here. False if the browser does not
 * say.
 */
export function isLedByOthers({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return ['cross-site', 'same-site'].includes(String(headers['sec-fetch-site']))
}

/**
 * Checks that a form comes from a page of the session.
 * @throws formRefused
 */
export function requireForm({ body, server }: Pick<FastifyRequest, 'body' | 'server'>, sessionId: string): void {
  const { data } = FormBody.safeParse(body)
  requireOwn(data !== undefined && server.deps.sessionCipher.isFormToken(sessionId, data._csrf))
}

function requireOwn(isOwn: boolean): asserts isOwn {
  if (!isOwn) throw formRefused()
}

/** Undefined without a session, and for a session that has expired by the clock of the console. */
export async function readSession({ cookies, server }: FastifyRequest): Promise<Session | undefined> {
  const { sessionCipher, now } = server.deps
  const text = cookies[cookieName(server.deps.config.origin)]
  const session = text === undefined ? undefined : await sessionCipher.decrypt(text)
  return session === undefined || isOver(session, now()) ? undefined : session
}

/** Ends a session at auth. False if auth has not done it. */
export async function endAtAuth({ server, ip }: FastifyRequest, session: Session): Promise<boolean> {
  const { accessTokens, auth } = server.deps
  try {
    const tokens = await accessTokens.find(session, ip)
    if (tokens !== undefined) await auth.signOut(tokens.accessToken, ip)
    return true
  } catch (error) {
    if (error instanceof HttpError) return false
    throw error
  } finally {
    accessTokens.forget(session.id)
  }
}

export async function writeSession(reply: FastifyReply, session: Session): Promise<void> {
  const { sessionCipher, config } = reply.server.deps
  reply.setCookie(cookieName(config.origin), await sessionCipher.encrypt(session), cookieOptions(config.origin))
}

/** Removes the cookie, and forgets the access token. */
export function endSession(reply: FastifyReply, sessionId: string | undefined): void {
  const { config, accessTokens } = reply.server.deps
  if (sessionId !== undefined) accessTokens.forget(sessionId)
  reply.clearCookie(cookieName(config.origin), cookieOptions(config.origin))
}

/**
 * Begins the session of a browser with the tokens of a sign-in, and keeps its access token.
 * @param earlier values of the same session before its second factor
 */
export async function beginSession(
  reply: FastifyReply,
  signedIn: AuthTokens,
  earlier: Partial<Pick<Session, 'signedInAt' | 'generation' | 'needsFactor'>> = {},
): Promise<void> {
  const { accessTokens, now } = reply.server.deps
  const usedAtMs = now().getTime()
  // A second factor of the same session brings newer tokens.
  const tokens: Tokens = { ...signedIn, generation: (earlier.generation ?? -1) + 1 }
  accessTokens.keep(tokens)
  const { sessionId: id, refreshToken, generation, hasSecondFactor } = tokens
  const { signedInAt = usedAtMs, needsFactor } = earlier
  await writeSession(reply, {
    id,
    refreshToken,
    generation,
    signedInAt,
    usedAt: usedAtMs,
    needsFactor,
    hasSecondFactor,
    isNew: true,
  })
}

/** A browser accepts a cookie with the prefix only over TLS, and only from this host (RFC 6265bis). */
function cookieName(origin: string): string {
  return isSecure(origin) ? '__Host-trestle_console' : 'trestle_console'
}

function cookieOptions(origin: string) {
  return { httpOnly: true, secure: isSecure(origin), sameSite: 'lax', path: '/' } as const
}

function isSecure(origin: string): boolean {
  return origin.startsWith('https:')
}
