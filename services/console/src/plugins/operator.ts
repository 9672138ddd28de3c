import { type ConcurrencyLimitOptions, concurrencyLimit } from '@trestle/common/capacity/concurrency-limit.ts'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import { mayDo, OPERATOR_ROLES, type OperatorAction, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import { actionForbidden, consoleBusy } from '../errors.ts'
import { rolesThatMay, type Viewer } from '../pages/asked-change.ts'
import type { FormProof } from '../pages/form.ts'
import { PATHS } from '../pages/paths.ts'
import {
  createOperatorCalls,
  type OperatorCalls,
  requireRole,
  requireSession,
} from '../service-calls/operator-calls.ts'
import type { AuthTokens } from '../sessions/auth-session.ts'
import type { Session } from '../sessions/session-cipher.ts'
import { isLedByOthers, readSession, requireForm, writeSession } from './browser-session.ts'

/** The operator who requests a page, with their permissions. */
export interface Visit {
  readonly session: Session
  readonly email: string
  readonly role: OperatorRole
  readonly userId: string
  readonly calls: OperatorCalls
  readonly form: FormProof
  readonly accessToken: string
}

/**
 * The concurrency limit for pages and changes of operators. One thread renders all pages, so with more requests it accepts new
 * connections later.
 */
const OPERATOR_LIMIT: ConcurrencyLimitOptions = {
  slots: 64,
  each: 4,
  clientOf: ({ signedInAs }) => requireSession(signedInAs),
  refuse: consoleBusy,
}

const Me = z.object({
  operator: z.object({
    role: z.enum(OPERATOR_ROLES),
    actor: z.object({ id: z.string(), email: z.string(), role: z.enum(OPERATOR_ROLES) }),
  }),
})

/**
 * Admits only operators. Identifies the operator at auth before each page and change, so that a new role, a ban or an ended
 * session takes effect immediately (console reference: Sessions of the console).
 */
export const operatorPages = fp(
  async (app: FastifyInstance) => {
    await app.register(concurrencyLimit, OPERATOR_LIMIT)
    app.decorateRequest('visit')
    app.decorateRequest('signedInAs')
    app.addHook('onRequest', async (request, reply) => {
      const { session, tokens } = await requireTokens(request)
      const needsFactor = app.deps.config.mfaRequired || session.needsFactor === true
      if (needsFactor && !tokens.hasSecondFactor) return reply.redirect(PATHS.signInFactor, 303)
      request.signedInAs = tokens.userId
      await request.takeSlots(1, reply)
      request.visit = await identify(request, session, tokens)
      await reply.countForCaller(tokens.userId)
      await keepAlive(request, reply, session)
    })
    app.addHook('preValidation', async (request) => {
      if (isRead(request)) return
      requireForm(request, visitOf(request).session.id)
    })
    app.addHook('preHandler', async (request) => {
      if (!isRead(request)) await identifyAgain(request)
    })
  },
  { name: 'operator-pages', dependencies: ['browser-session'] },
)

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * Identifies the operator again after the body of a change has arrived. The body may end long after its headers, and the operator
 * may have lost role, session or account. Other services trust the access token until it expires.
 * @throws notSignedIn, operatorForbidden for a user who is no longer an operator
 */
export async function identifyAgain(request: FastifyRequest): Promise<void> {
  const { session, tokens } = await findTokens(request, visitOf(request).session)
  request.visit = await identify(request, session, tokens)
}

/** @throws notSignedIn */
export function visitOf({ visit }: FastifyRequest): Visit {
  return requireSession(visit)
}

/** @throws notSignedIn */
export function viewerOf(request: FastifyRequest): Viewer {
  const { role, userId } = visitOf(request)
  return { role, userId, now: request.server.deps.now() }
}

/**
 * Requires that the role allows the action. The service checks the action itself. This check avoids a form that the service would
 * reject.
 * @throws notSignedIn, and actionForbidden if the role does not allow the action
 */
export function requireAction(request: FastifyRequest, action: OperatorAction): Visit {
  const visit = visitOf(request)
  if (!mayDo(visit.role, action)) throw actionForbidden({ role: visit.role, others: rolesThatMay(action) })
  return visit
}

/**
 * Returns whether another site or a sign-in led the browser to a form. If so, show the page around the form instead. Otherwise
 * keys and clicks that are meant for the other site would fill in the form and send it.
 * @throws notSignedIn
 */
export function isLedToForm(request: FastifyRequest): boolean {
  return isLedByOthers(request) || visitOf(request).session.isNew === true
}

/**
 * Redirects the browser from a form to the page around it. Keeps `isNew` after a sign-in, because the page around a question may
 * itself be a form.
 * @throws notSignedIn
 */
export async function leadAround(request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> {
  const { session } = visitOf(request)
  if (session.isNew === true) await writeSession(reply, session)
  return reply.redirect(path, 303)
}

interface SignedInSession {
  readonly session: Session
  readonly tokens: AuthTokens
}

/** @throws notSignedIn, and serviceUnavailable if auth does not answer */
export async function requireTokens(request: FastifyRequest): Promise<SignedInSession> {
  return findTokens(request, requireSession(await readSession(request)))
}

/** Returns the email of the operator in this browser, or `undefined` if auth admits no operator. */
export async function findSignedIn(request: FastifyRequest, reply: FastifyReply): Promise<string | undefined> {
  const known = await readSession(request)
  if (known === undefined) return undefined
  try {
    const { session, tokens } = await findTokens(request, known)
    // Keep `usedAt`: showing the signed-in operator does not prolong the session. Store newer tokens.
    await writeSession(reply, session)
    return (await identify(request, session, tokens)).email
  } catch (error) {
    if (error instanceof HttpError) return undefined
    throw error
  }
}

async function findTokens({ server, ip }: FastifyRequest, session: Session): Promise<SignedInSession> {
  const tokens = requireSession(await server.deps.accessTokens.find(session, ip))
  const { refreshToken, generation, hasSecondFactor } = tokens
  return { session: { ...session, refreshToken, generation, hasSecondFactor }, tokens }
}

/** @throws notSignedIn, and operatorForbidden for a user who is not an operator */
async function identify(request: FastifyRequest, session: Session, tokens: AuthTokens): Promise<Visit> {
  const { services, operatorKeys, sessionCipher, generateIdempotencyKey } = request.server.deps
  const credentials = { role: requireRole(tokens.role), accessToken: tokens.accessToken, address: request.ip }
  const calls = createOperatorCalls(services, operatorKeys, credentials)
  const { operator } = (await calls.read('auth', '/operator/me', Me)).value
  return {
    session,
    email: operator.actor.email,
    userId: operator.actor.id,
    role: operator.role,
    calls,
    form: { csrf: sessionCipher.formToken(session.id), key: generateIdempotencyKey() },
    accessToken: tokens.accessToken,
  }
}

/**
 * Records the use of the session. Automatic requests of a page do not count, and at most update the refresh token. Requests from
 * another site do not count either, such as for an image. A page that another site led to is opened once more.
 */
async function keepAlive(request: FastifyRequest, reply: FastifyReply, session: Session): Promise<void> {
  if (request.headers['x-trestle-poll'] === '1' || isLedByOthers(request)) return writeSession(reply, session)
  const { toast: _shown, isNew: _opened, ...others } = session
  await writeSession(reply, { ...others, usedAt: request.server.deps.now().getTime() })
}

/** Redirects to a page with a notice about the outcome. @throws notSignedIn */
export async function answerDone(
  request: FastifyRequest,
  reply: FastifyReply,
  done: DoneChange,
): Promise<FastifyReply> {
  const { session } = visitOf(request)
  await writeSession(reply, { ...session, usedAt: request.server.deps.now().getTime(), toast: done.toast })
  return reply.redirect(done.path, 303)
}

interface DoneChange {
  readonly path: string
  /** A sentence about the outcome. */
  readonly toast: string
}

declare module 'fastify' {
  interface FastifyRequest {
    visit: Visit | undefined
    /** The id of the user whose tokens are in the browser's session. */
    signedInAs: string | undefined
  }
}
