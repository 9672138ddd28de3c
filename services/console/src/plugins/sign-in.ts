import type { FastifyReply, FastifyRequest } from 'fastify'
import { FORM_TEXTS } from '../errors.ts'
import { PAGE_HEADERS } from '../pages/layout.ts'
import { ownPath, PATHS } from '../pages/paths.ts'
import type { AuthSessions, AuthTokens, FactorCaller, SignIn } from '../sessions/auth-session.ts'
import { codePage, signInPage } from '../sessions/sign-in-pages.ts'
import { beginSession, endAtAuth, readSession, requireForm } from './browser-session.ts'
import { requireTokens } from './operator.ts'

export function sendSignInPage(reply: FastifyReply, page: string, status = 200): FastifyReply {
  return reply.code(status).headers(PAGE_HEADERS).send(page)
}

function sendRefused(
  reply: FastifyReply,
  page: string,
  { status }: Extract<SignIn, { kind: 'refused' }>,
): FastifyReply {
  if (status === 429) reply.header('retry-after', RETRY_SECONDS)
  return sendSignInPage(reply, page, status)
}

/** Auth forgets the oldest attempts of an address within minutes. */
const RETRY_SECONDS = '60'

interface SignInTry {
  readonly email?: string
  readonly next?: string | undefined
}

/**
 * Responds to a correct password or link with a redirect to the second factor or to the requested page. Ends the former session
 * of the browser, because its cookie is replaced and no later request could end it.
 */
export async function answerSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  signIn: SignIn,
  { email, next: asked }: SignInTry,
): Promise<FastifyReply> {
  const next = ownPath(asked)
  if (signIn.kind === 'refused') {
    return sendRefused(reply, signInPage({ next, ...(email ? { email } : {}), problem: signIn }), signIn)
  }
  const { tokens } = signIn
  if (tokens.role === undefined) return refuseOutsider(request, reply, tokens)
  const former = await readSession(request)
  const needsFactor = !tokens.hasSecondFactor && (await asksForFactor(request, tokens))
  // Store that a factor is needed, because the browser may ignore the redirect to the page of the factor.
  await beginSession(reply, tokens, needsFactor ? { needsFactor } : {})
  if (former !== undefined) await endAtAuth(request, former)
  return reply.redirect(needsFactor ? factorPath(next) : next, 303)
}

/** Operators with a second factor must use it, even if the console does not require one. */
async function asksForFactor({ server, ip }: FastifyRequest, { accessToken }: AuthTokens): Promise<boolean> {
  const { config, auth } = server.deps
  return config.mfaRequired || (await auth.findFactor(accessToken, ip)) !== undefined
}

/** Users of the application may have a password too, but are not operators. */
async function refuseOutsider(
  { server, ip }: FastifyRequest,
  reply: FastifyReply,
  { accessToken }: AuthTokens,
): Promise<FastifyReply> {
  await server.deps.auth.signOut(accessToken, ip)
  return sendSignInPage(reply, signInPage({ next: PATHS.home, problem: { message: FORM_TEXTS.outsider } }), 403)
}

function factorPath(next: string): string {
  return next === PATHS.home ? PATHS.signInFactor : `${PATHS.signInFactor}?${new URLSearchParams({ next })}`
}

/** Returns the app for step-up: the existing one, or a new one if the operator has no second factor. */
async function findApp(
  auth: AuthSessions,
  { accessToken, address }: FactorCaller,
  newFactorId: string | undefined,
): Promise<string | undefined> {
  const factor = await auth.findFactor(accessToken, address)
  if (factor === undefined) return newFactorId
  return factor.kind === 'app' ? factor.id : undefined
}

export interface GivenCode {
  readonly code: string
  readonly next?: string | undefined
  readonly factor_id?: string | undefined
}

/**
 * Steps up the session by a code. Shows the form again after a wrong code.
 * @throws notSignedIn, formRefused for a form of another page, and serviceUnavailable if auth does not answer
 */
export async function answerFactor(
  request: FastifyRequest,
  reply: FastifyReply,
  { code, next: asked, factor_id: newFactorId }: GivenCode,
): Promise<FastifyReply> {
  const { auth, sessionCipher, generateIdempotencyKey } = request.server.deps
  const { session, tokens } = await requireTokens(request)
  requireForm(request, session.id)
  const caller = { accessToken: tokens.accessToken, address: request.ip }
  const next = ownPath(asked)
  const factorId = await findApp(auth, caller, newFactorId)
  if (factorId === undefined) return reply.redirect(request.url, 303)
  const proven = await auth.proveFactor(factorId, code.replaceAll(' ', ''), caller)
  if (proven.kind === 'signed-in') {
    const { signedInAt, generation } = session
    await beginSession(reply, proven.tokens, { signedInAt, generation })
    return reply.redirect(next, 303)
  }
  const proof = { csrf: sessionCipher.formToken(session.id), key: generateIdempotencyKey() }
  const newFactor = newFactorId === undefined ? {} : { newFactor: { id: newFactorId } }
  const problem = { message: proven.message, field: proven.status === 401 ? 'code' : undefined }
  return sendRefused(reply, codePage({ proof, next, problem, ...newFactor }), proven)
}
