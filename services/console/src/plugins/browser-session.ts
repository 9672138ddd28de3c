import cookie from '@fastify/cookie'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import { formRefused } from '../errors.ts'
import type { AuthTokens, Tokens } from '../sessions/auth-session.ts'
import { isOver, type Session } from '../sessions/session-cipher.ts'

/** The fields of every form in a session. */
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
 * Requires the origin of the console in Origin or Referer. Other sites and other hosts of this site must not send forms.
 * @throws formRefused
 */
function requireOwnOrigin({ headers, server }: FastifyRequest): void {
  const named = headers.origin ?? URL.parse(String(headers.referer ?? ''))?.origin
  requireOwn(named === server.deps.config.origin)
}

/**
 * Returns whether a page of another site, or of another host of this site, led the browser here. `false` if the browser does not
 * say.
 */
export function isLedByOthers({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return ['cross-site', 'same-site'].includes(String(headers['sec-fetch-site']))
}

/**
 * Requires that a form comes from a page of the session.
 * @throws formRefused
 */
export function requireForm({ body, server }: Pick<FastifyRequest, 'body' | 'server'>, sessionId: string): void {
  const { data } = FormBody.safeParse(body)
  requireOwn(data !== undefined && server.deps.sessionCipher.isFormToken(sessionId, data._csrf))
}

function requireOwn(isOwn: boolean): asserts isOwn {
  if (!isOwn) throw formRefused()
}

/** Returns `undefined` if there is no session, or if it has expired by the clock of the console. */
export async function readSession({ cookies, server }: FastifyRequest): Promise<Session | undefined> {
  const { sessionCipher, now } = server.deps
  const text = cookies[cookieName(server.deps.config.origin)]
  const session = text === undefined ? undefined : await sessionCipher.decrypt(text)
  return session === undefined || isOver(session, now()) ? undefined : session
}

/** Ends a session at auth. Returns `false` if auth failed to do it. */
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

/** Removes the cookie and the stored access token. */
export function endSession(reply: FastifyReply, sessionId: string | undefined): void {
  const { config, accessTokens } = reply.server.deps
  if (sessionId !== undefined) accessTokens.forget(sessionId)
  reply.clearCookie(cookieName(config.origin), cookieOptions(config.origin))
}

/**
 * Begins a browser session with the tokens of a sign-in, and stores its access token.
 * @param earlier values of the same session from before its second factor
 */
export async function beginSession(
  reply: FastifyReply,
  signedIn: AuthTokens,
  earlier: Partial<Pick<Session, 'signedInAt' | 'generation' | 'needsFactor'>> = {},
): Promise<void> {
  const { accessTokens, now } = reply.server.deps
  const usedAtMs = now().getTime()
  // The step-up of a session brings newer tokens, so it raises the generation.
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

/** Browsers accept a cookie with this prefix only over TLS and only from this host (RFC 6265bis). */
function cookieName(origin: string): string {
  return isSecure(origin) ? '__Host-trestle_console' : 'trestle_console'
}

function cookieOptions(origin: string) {
  return { httpOnly: true, secure: isSecure(origin), sameSite: 'lax', path: '/' } as const
}

function isSecure(origin: string): boolean {
  return origin.startsWith('https:')
}
