import { createHmac } from 'node:crypto'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import { readOperator } from '@trestle/operators/operator.ts'
import type { OperatorAction } from '@trestle/operators/operator-roles.ts'
import { guardOperatorRoutes } from '@trestle/operators/operator-routes.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import type { AuthDeps } from '../deps.ts'
import { idempotencyKeyMalformed, idempotencyKeyMissing, operatorChangeRunning, operatorForbidden } from '../errors.ts'
import {
  findOperatorAnswer,
  type OperatorAnswer,
  type OperatorChange,
  type OperatorSession,
  requireOperator,
  requireSameOperator,
  toOperatorActor,
  toOperatorAdmin,
} from '../operators/operator-change-repository.ts'
import { findLiveSession } from '../sessions/active-caller.ts'
import type { Admin } from '../sessions/admin.ts'
import { refusePath } from './refuse-feature.ts'

/**
 * Guards the routes of its context. A request needs the key of a console and the access token of an operator (console reference:
 * Checks of a request). The console role must allow the action of the route. Without AUTH_OPERATOR_KEYS, the routes do not exist.
 */
export const authenticateOperator = fp(
  async (app: FastifyInstance) => {
    const { deps } = app
    const { keys } = deps.config.operators
    app.decorateRequest('operatorSession')
    const findOperator = async (request: FastifyRequest) => {
      if (keys.length === 0) refusePath()
      const { headers, clientAddress } = request
      const verifyToken = async (token: string) => {
        request.operatorSession = readOperatorSession(deps, token)
        return findOperatorActor(deps, request.operatorSession)
      }
      return requireOperator(await readOperator({ keys, verifyToken }, { headers, ip: clientAddress.ip }))
    }
    guardOperatorRoutes(app, findOperator, operatorForbidden)
  },
  { name: 'authenticate-operator', dependencies: ['client-address'] },
)

/** @throws Error if the route has no operator action */
function actionOf({ routeOptions: { url, config } }: FastifyRequest): OperatorAction {
  if (config.action === undefined) throw new Error(`${url} names no action of operators`)
  return config.action
}

/** The arguments of admin use cases for a change by an operator, who may change users of any audience. */
interface ByOperator {
  readonly admin: Admin
  readonly audience: undefined
  readonly ip: string
}

const KEY = /^[\x21-\x7e]{1,255}$/

/**
 * Answers a change of an operator (console reference: Changes): by `run`, or by the stored response to the first request with the
 * same key. The database stores the encrypted bytes, so both responses are identical. The operator was checked before the body
 * was read, which may take long. Therefore this function checks the operator again before a stored response, and `run` before a
 * change.
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
  deps: Pick<AuthDeps, 'config' | 'db' | 'pools'>,
  change: OperatorChange,
  run: () => Promise<OperatorAnswer>,
): Promise<OperatorAnswer> {
  try {
    const answer = await findOperatorAnswer(deps.db, change)
    if (answer === undefined) return await run()
    requireSameOperator(change, await findOperatorActor(deps, change.session))
    return answer
  } catch (error) {
    throw isLockTimeout(error) ? operatorChangeRunning({ cause: error }) : error
  }
}

function readChange(request: FastifyRequest): OperatorChange {
  const { operator, operatorSession, headers, method, params, query, body, routeOptions, server } = request
  const { 'idempotency-key': key } = headers
  if (key === undefined || key === '') throw idempotencyKeyMissing()
  if (typeof key !== 'string' || !KEY.test(key)) throw idempotencyKeyMalformed()
  const asked = JSON.stringify(['operator change', method, routeOptions.url, params, query, body])
  const fingerprintBy = (hmacKey: Buffer) => createHmac('sha256', hmacKey).update(asked).digest()
  const { hmac, hmacs } = server.deps.serverKeys
  const { data: path } = PathOfUser.safeParse(params)
  return {
    operator,
    action: actionOf(request),
    key,
    encryption: server.deps,
    fingerprint: fingerprintBy(hmac),
    knownFingerprints: hmacs.map(fingerprintBy),
    session: requireOperator(operatorSession),
    userId: path?.userId,
  }
}

const PathOfUser = z.object({ userId: z.guid().toLowerCase() })

/** The claims that identify an operator. The database contains the rights. */
const Claims = z.object({
  sub: z.guid(),
  session_id: z.guid(),
  iss: z.string().optional(),
  aal: z.string(),
  exp: z.number(),
})

/** Returns the session of a valid access token. `undefined` if the token is invalid or has no session. */
function readOperatorSession(
  deps: Pick<AuthDeps, 'config' | 'hooks' | 'now' | 'signingKeys'>,
  token: string,
): OperatorSession | undefined {
  const { jwt, operators, sessions: limits } = deps.config
  const verification = deps.signingKeys.verify(token, deps.now())
  const { data: claims } = Claims.safeParse(verification.verdict === 'valid' ? verification.claims : undefined)
  if (claims === undefined) return undefined
  const { sub: userId, session_id: sessionId, iss, aal } = claims
  // The hook CUSTOM_ACCESS_TOKEN may have changed the issuer.
  if (iss !== jwt.issuer && !deps.hooks.isOn('CUSTOM_ACCESS_TOKEN')) return undefined
  return { userId, sessionId, hasAal2Token: aal === 'aal2', limits, mfaRequired: operators.mfaRequired }
}

/** Returns the current operator of a session, or `undefined` if its user is no operator. */
async function findOperatorActor(deps: Pick<AuthDeps, 'config' | 'pools'>, session: OperatorSession | undefined) {
  return session && toOperatorActor(session, await findLiveSession(deps, session))
}

declare module 'fastify' {
  interface FastifyRequest {
    operatorSession: OperatorSession | undefined
  }
}
