import {
  operatorLimitKey,
  readOperator,
  readOperatorAddress,
  UnverifiableTokenError,
} from '@trestle/operators/operator.ts'
import { guardOperatorRoutes } from '@trestle/operators/operator-routes.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { IdempotentRequest } from '../access/caller.ts'
import { idempotencyKeyMissing, serviceUnavailable } from '../errors.ts'
import { operatorForbidden, operatorUnauthorized } from '../operator-errors.ts'
import type { OperatorAnswer, OperatorChange } from '../operators/operator-change-repository.ts'
import { idempotentRequestOf, malformedKey } from './idempotency-key.ts'
import { refuseBeyond } from './limit-effects.ts'
import { requireEndpoint } from './read-request.ts'

/**
 * Guards the routes of its context. A request needs the key of a console and the access token of an operator (console reference:
 * Checks of a request). The operator's role must allow the action of the route. Without PAYMENTS_OPERATOR_KEYS these routes do
 * not exist. A refused request counts against its address.
 */
export const authenticateOperator = fp(
  async (app: FastifyInstance) => {
    const { operators, rateLimits } = app.deps
    const refuseFailure = refuseBeyond(app, 'operator', rateLimits.failures)
    app.decorateRequest('idempotentRequest')
    const findOperator = async (request: FastifyRequest) => {
      const access = requireEndpoint(operators)
      const operator = await readOperator(access, request).catch(refuseUnverifiable)
      if (operator !== undefined) return operator
      // All operators share the address of the console. Count the failure against the forwarded address of the operator instead.
      const forwardedAddress = readOperatorAddress(access.keys, request.headers)
      await refuseFailure(forwardedAddress === undefined ? request.ip : operatorLimitKey(forwardedAddress))
      throw operatorUnauthorized()
    }
    guardOperatorRoutes(app, findOperator, operatorForbidden)
    // Access is granted at this point. Only the values of the request remain to be checked.
    app.addHook('preHandler', async (request) => {
      if (request.problem !== undefined) throw request.problem.error
      if (!READS.has(request.method)) request.idempotentRequest = readIdempotentRequest(request)
    })
  },
  { name: 'authenticate-operator', dependencies: ['read-request'] },
)

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** The identity of a change, for idempotent requests. @throws idempotencyKeyMissing, idempotencyKeyMalformed */
function readIdempotentRequest(request: FastifyRequest): IdempotentRequest {
  const idempotentRequest = idempotentRequestOf(request, request.routeOptions.schema?.body ? request.body : {})
  if (idempotentRequest === undefined) throw idempotencyKeyMissing()
  if (idempotentRequest === 'refused') throw malformedKey()
  return idempotentRequest
}

/** The change that an operator's request makes. @throws Error on a route that only reads */
export function readOperatorChange({ operator, idempotentRequest, routeOptions }: FastifyRequest): OperatorChange {
  const { config, schema, url } = routeOptions
  const status = Object.keys(schema?.response ?? {}).find((documented) => Number(documented) < 300)
  if (idempotentRequest === undefined || config.action === undefined || status === undefined)
    throw new Error(`${url} changes nothing`)
  return { operator, action: config.action, idempotentRequest, status: Number(status) }
}

/** Sends the response to a change by an operator. An idempotent request gets the bytes of the first response. */
export function sendOperatorAnswer(reply: FastifyReply, { status, body, replayed }: OperatorAnswer): FastifyReply {
  if (replayed) reply.header('idempotent-replayed', 'true')
  return reply.code(status).type('application/json; charset=utf-8').send(`${body}\n`)
}

function refuseUnverifiable(error: unknown): never {
  throw error instanceof UnverifiableTokenError ? serviceUnavailable({ cause: error }) : error
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set only on routes that change something. */
    idempotentRequest: IdempotentRequest | undefined
  }
}
