import { createHash } from 'node:crypto'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import { type Operator, type OperatorActor, readOperator } from '@trestle/operators/operator.ts'
import { mayDo, type OperatorAction } from '@trestle/operators/operator-roles.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import type { AuthDeps } from '../deps.ts'
import { notFound } from '../errors.ts'
import {
  operatorChangeRunning,
  operatorKeyMalformed,
  operatorKeyMissing,
  operatorUnauthorized,
} from '../operator-errors.ts'
import { type OperatorAnswer, type OperatorChange, toOperatorAdmin } from '../operators/operator-change.ts'
import { findOperatorAnswer } from '../operators/operator-change-repository.ts'
import { refuseOperator } from '../operators/refuse-operator.ts'
import type { Admin } from '../sessions/admin.ts'
import { findLiveSession } from '../sessions/live-session.ts'

/** How an operator authenticates, for the API document: both together. */
export const OPERATOR_SCHEMES = {
  operatorKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Trestle-Operator-Key',
    description: 'The operator key of a console',
  },
  operatorToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The access token of the operator who acts',
  },
} as const

/**
 * Guards the routes of its context: a request needs the key of a console and the access token of an operator (console reference:
 * Checks of a request), and its role must be high enough for the action that the route names. Without AUTH_OPERATOR_KEYS there is
 * no such route.
 */
export const authenticateOperator = fp(
  async (app: FastifyInstance) => {
    const { deps } = app
    const { keys } = deps.config.operators
    const access = { keys, verifyToken: (token: string) => findOperatorActor(deps, token) }
    app.decorateRequest('operator')
    app.addHook('onRoute', ({ url, config, schema }) => {
      if (config?.action === undefined) throw new Error(`${url} names no action of operators`)
      if (schema) schema.security ??= [{ operatorKey: [], operatorToken: [] }]
    })
    app.addHook('onRequest', async () => {
      if (keys.length === 0) refusePath()
    })
    app.addHook('onRequest', async (request) => {
      const { headers, clientAddress } = request
      const operator = await readOperator(access, { headers, ip: clientAddress.ip })
      if (operator === undefined) throw operatorUnauthorized()
      request.operator = operator
      request.logFields = { operator_id: operator.actor.id, operator_key: operator.key, ...request.logFields }
      const action = actionOf(request)
      if (!mayDo(operator.role, action)) refuseOperator(operator.role, action)
    })
  },
  { name: 'authenticate-operator', dependencies: ['client-address'] },
)

/** Refuses a path that the settings leave out, as an unknown one. @throws notFound */
export function refusePath(): never {
  throw notFound()
}

/** @throws Error on a route of others */
function actionOf({ routeOptions: { url, config } }: FastifyRequest): OperatorAction {
  if (config.action === undefined) throw new Error(`${url} names no action of operators`)
  return config.action
}

/** The arguments of the use cases of admins for a change of an operator, who acts on users of any audience. */
interface ByOperator {
  readonly admin: Admin
  readonly audience: undefined
  readonly ip: string
}

const KEY = /^[\x21-\x7e]{1,255}$/

/**
 * Answers a change of an operator: what `run` makes of it, or what was answered when it was first made (console reference:
 * Changes). The database keeps the bytes of the answer, sealed, so that a repeat gets the same.
 * @throws operatorKeyMissing, operatorKeyMalformed, operatorKeyReused, operatorChangeRunning when a lock was not available in time,
 * and what `run` throws
 */
export async function answerChange(
  request: FastifyRequest,
  reply: FastifyReply,
  run: (change: OperatorChange, by: ByOperator) => Promise<OperatorAnswer>,
): Promise<undefined> {
  const { deps } = request.server
  const change = readChange(request)
  const by = { admin: toOperatorAdmin(change, deps.config.jwt), audience: undefined, ip: change.operator.address }
  const { status, body, replayed } = await runOnce(deps, change, () => run(change, by))
  if (replayed) reply.header('idempotent-replayed', 'true')
  await reply.code(status).type('application/json; charset=utf-8').send(body)
  return undefined
}

async function runOnce(
  { db }: Pick<AuthDeps, 'db'>,
  change: OperatorChange,
  run: () => Promise<OperatorAnswer>,
): Promise<OperatorAnswer> {
  try {
    return (await findOperatorAnswer(db, change)) ?? (await run())
  } catch (error) {
    throw isLockTimeout(error) ? operatorChangeRunning({ cause: error }) : error
  }
}

function readChange(request: FastifyRequest): OperatorChange {
  const { operator, headers, method, params, query, body, routeOptions, server } = request
  const { 'idempotency-key': key } = headers
  if (key === undefined || key === '') throw operatorKeyMissing()
  if (typeof key !== 'string' || !KEY.test(key)) throw operatorKeyMalformed()
  const asked = JSON.stringify([method, routeOptions.url, params, query, body])
  const fingerprint = createHash('sha256').update(asked).digest()
  return { operator, action: actionOf(request), key, fingerprint, sealing: server.deps }
}

/** The claims that name an operator. What they may do is read from the database. */
const Claims = z.object({
  sub: z.guid(),
  session_id: z.guid(),
  iss: z.string().optional(),
  aal: z.string(),
  exp: z.number(),
})

/**
 * The user of a good access token whose session is live, who is not banned and has a console role at this moment, with a second
 * factor where one is required or set up. Undefined for any other token.
 */
async function findOperatorActor(
  deps: Pick<AuthDeps, 'config' | 'hooks' | 'lanes' | 'now' | 'signingKeys'>,
  token: string,
): Promise<OperatorActor | undefined> {
  const { jwt, operators } = deps.config
  const verification = deps.signingKeys.verify(token, deps.now())
  const { data: claims } = Claims.safeParse(verification.verdict === 'valid' ? verification.claims : undefined)
  if (claims === undefined) return undefined
  const { sub: userId, session_id: sessionId, iss, aal } = claims
  // The hook CUSTOM_ACCESS_TOKEN may have written another issuer.
  if (iss !== jwt.issuer && !deps.hooks.isOn('CUSTOM_ACCESS_TOKEN')) return undefined
  const session = await findLiveSession(deps, { userId, sessionId })
  if (!session || session.isBanned || session.email === null || session.consoleRole === null) return undefined
  const hasShownFactor = aal === 'aal2' && session.hasShownFactor
  // An operator who has set up a factor shows it, as an admin does: otherwise a password alone would be worth more than its owner believes.
  if ((operators.mfaRequired || session.userHasFactor) && !hasShownFactor) return undefined
  return { id: userId, email: session.email, role: session.consoleRole }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action of an operator at the route. */
    action?: OperatorAction
  }
  interface FastifyRequest {
    /** Set on every route of operators. */
    operator: Operator
  }
}
