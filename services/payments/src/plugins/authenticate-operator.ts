import {
  type Operator,
  readOperator,
  readOperatorAddress,
  UnverifiableTokenError,
} from '@trestle/service/operators/operator.ts'
import { mayDo, type OperatorAction } from '@trestle/service/operators/operator-roles.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { operatorForbidden, operatorUnauthorized, serviceUnavailable } from '../errors.ts'
import { refuseBeyond } from './refuse-beyond.ts'
import { requireEndpoint } from './request-input.ts'

/** How an operator authenticates, for the API document: both together. */
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
 * Guards the routes of its context: a request needs the key of a console and the access token of an operator (console reference:
 * Checks of a request), and its role must be high enough for the action that the route names. Without PAYMENTS_OPERATOR_KEYS there
 * is no such route. A refused request counts against its address.
 */
export const authenticateOperator = fp(
  async (app: FastifyInstance) => {
    const { operators, rateLimits } = app.deps
    const refuseFailure = refuseBeyond(app, 'operator', rateLimits.failures)
    app.decorateRequest('operator')
    app.addHook('onRoute', ({ url, config, schema }) => {
      if (config?.action === undefined) throw new Error(`${url} names no action of operators`)
      if (schema) schema.security ??= [{ operatorKey: [], operatorToken: [] }]
    })
    app.addHook('onRequest', async (request) => {
      const access = requireEndpoint(operators)
      const operator = await readOperator(access, request).catch(refuseUnverifiable)
      if (operator === undefined) {
        // The requests of all operators come from the address of the console.
        await refuseFailure(readOperatorAddress(access.keys, request.headers) ?? request.ip)
        throw operatorUnauthorized()
      }
      request.operator = operator
      request.logFields = { operator_id: operator.actor.id, operator_key: operator.key, ...request.logFields }
      const { action } = request.routeOptions.config
      const { role } = operator
      if (action === undefined || !mayDo(role, action)) throw operatorForbidden({ details: { action, role } })
    })
    // The operator is good, so what is wrong with the values is all that is left to judge.
    app.addHook('preHandler', (request, _reply, done) => done(request.problem?.error))
  },
  { name: 'authenticate-operator', dependencies: ['request-input'] },
)

function refuseUnverifiable(error: unknown): never {
  throw error instanceof UnverifiableTokenError ? serviceUnavailable({ cause: error }) : error
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What an operator does by the route. */
    action?: OperatorAction
  }
  interface FastifyRequest {
    /** Set on every route of operators. */
    operator: Operator
  }
}
