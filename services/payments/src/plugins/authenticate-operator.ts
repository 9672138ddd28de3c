import {
  type Operator,
  operatorLimitKey,
  readOperator,
  readOperatorAddress,
  UnverifiableTokenError,
} from '@trestle/operators/operator.ts'
import { mayDo, type OperatorAction, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Repeat } from '../access/caller.ts'
import { idempotencyKeyMissing, serviceUnavailable } from '../errors.ts'
import { operatorForbidden, operatorUnauthorized } from '../operator-errors.ts'
import type { OperatorAnswer, OperatorChange } from '../operators/operator-change.ts'
import { malformedKey, repeatOf } from './idempotency-key.ts'
import { refuseBeyond } from './limit-effects.ts'
import { requireEndpoint } from './read-request.ts'

/** The two schemes by which an operator authenticates, for the API document: both together. */
export const OPERATOR_SCHEMES = {
  operatorKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Trestle-Operator-Key',
    description: 'The operator key of a console',
  },
  operatorToken: { type: 'http', scheme: 'bearer', description: 'The access token of the operator who acts' },
} as const

/**
 * Guards the routes of its context: a request needs the key of a console and the access token of an operator
 * (console reference: Checks of a request), and its role must be high enough for the action that the route
 * names. Without PAYMENTS_OPERATOR_KEYS there is no such route. A refused request counts against its address.
 */
export const authenticateOperator = fp(
  async (app: FastifyInstance) => {
    const { operators, rateLimits } = app.deps
    const refuseFailure = refuseBeyond(app, 'operator', rateLimits.failures)
    app.decorateRequest('operator')
    app.decorateRequest('operatorRepeat')
    app.addHook('onRoute', ({ url, config, schema }) => {
      if (config?.action === undefined) throw new Error(`${url} names no action of operators`)
      if (schema) schema.security ??= [{ operatorKey: [], operatorToken: [] }]
    })
    app.addHook('onRequest', async (request, reply) => {
      const access = requireEndpoint(operators)
      const operator = await readOperator(access, request).catch(refuseUnverifiable)
      if (operator === undefined) {
        // The requests of all operators come from the address of the console.
        const forwardedAddress = readOperatorAddress(access.keys, request.headers)
        await refuseFailure(forwardedAddress === undefined ? request.ip : operatorLimitKey(forwardedAddress))
        throw operatorUnauthorized()
      }
      request.operator = operator
      request.logFields = { operator_id: operator.actor.id, operator_key: operator.key, ...request.logFields }
      requireAction(operator.role, request.routeOptions.config.action)
      await reply.countForCaller(operator.actor.id)
    })
    // Access is granted. Only the values of the request are left to check.
    app.addHook('preHandler', async (request) => {
      if (request.problem !== undefined) throw request.problem.error
      if (!READS.has(request.method)) request.operatorRepeat = readRepeat(request)
    })
  },
  { name: 'authenticate-operator', dependencies: ['read-request'] },
)

/** Requires that the role of an operator may do an action (console reference: Actions). @throws operatorForbidden */
function requireAction(role: OperatorRole, action: OperatorAction | undefined): void {
  if (action === undefined || !mayDo(role, action)) throw operatorForbidden({ details: { action, role } })
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** The identity of a change, which its repeats share. @throws idempotencyKeyMissing, idempotencyKeyMalformed */
function readRepeat(request: FastifyRequest): Repeat {
  const repeat = repeatOf(request, request.routeOptions.schema?.body ? request.body : {})
  if (repeat === undefined) throw idempotencyKeyMissing()
  if (repeat === 'refused') throw malformedKey()
  return repeat
}

/** The change that a request of an operator asks for. @throws Error on a route that reads */
export function readOperatorChange({ operator, operatorRepeat: repeat, routeOptions }: FastifyRequest): OperatorChange {
  const { config, schema, url } = routeOptions
  const status = Object.keys(schema?.response ?? {}).find((documented) => Number(documented) < 300)
  if (repeat === undefined || config.action === undefined || status === undefined)
    throw new Error(`${url} changes nothing`)
  return { operator, action: config.action, repeat, status: Number(status) }
}

/** Sends the answer to a change of an operator. A repeat gets the bytes of the first answer. */
export function sendOperatorAnswer(reply: FastifyReply, { status, body, replayed }: OperatorAnswer): FastifyReply {
  if (replayed) reply.header('idempotent-replayed', 'true')
  return reply.code(status).type('application/json; charset=utf-8').send(`${body}\n`)
}

function refuseUnverifiable(error: unknown): never {
  throw error instanceof UnverifiableTokenError ? serviceUnavailable({ cause: error }) : error
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action of an operator by the route. */
    action?: OperatorAction
  }
  interface FastifyRequest {
    /** Set on every route of operators. */
    operator: Operator
    /** Set on routes that change something. */
    operatorRepeat: Repeat | undefined
  }
}
