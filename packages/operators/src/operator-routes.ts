import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Operator } from './operator.ts'
import { mayDo, OPERATOR_ROLES, type OperatorAction, type OperatorRole } from './operator-roles.ts'

/** The two authentication schemes of operators, for the API document. A request needs both. */
export const OPERATOR_SCHEMES = {
  operatorKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Trestle-Operator-Key',
    description: 'The operator key of a console',
  },
  operatorToken: { type: 'http', scheme: 'bearer', description: 'The access token of the operator who acts' },
} as const

const Role = z.enum(OPERATOR_ROLES)

/** The schema of the response to GET /operator/me. @param actor the description of the acting user */
export function operatorView(actor: string): z.ZodObject<{
  key: z.ZodString
  role: typeof Role
  actor: z.ZodObject<{ id: z.ZodGUID; email: z.ZodString; role: typeof Role }>
}> {
  return z
    .object({
      key: z.string().meta({ description: 'The name of the operator key' }),
      role: z.enum(OPERATOR_ROLES).meta({ description: 'What the operator may do by this key' }),
      actor: z.object({ id: z.guid(), email: z.string(), role: z.enum(OPERATOR_ROLES) }).meta({ description: actor }),
    })
    .meta({ id: 'Operator' })
}

/**
 * Requires that a role is allowed to do an action (console reference: Actions).
 * @param action `undefined` if no operator is allowed to use the route
 * @throws the error of `forbidden`, with the action and the role
 */
export function requireAction(role: OperatorRole, action: OperatorAction | undefined, forbidden: ErrorFactory): void {
  if (action === undefined || !mayDo(role, action)) throw forbidden({ details: { action, role } })
}

/**
 * Guards the routes of a context (console reference: Checks of a request). Each route names its action, and the role of the
 * operator must allow the action.
 * @param findOperator finds the operator of a request, or refuses the request
 * @param forbidden the error for a role that is too low
 */
export function guardOperatorRoutes(
  app: FastifyInstance,
  findOperator: (request: FastifyRequest) => Promise<Operator>,
  forbidden: ErrorFactory,
): void {
  app.decorateRequest('operator')
  app.addHook('onRoute', ({ url, config, schema }) => {
    if (config?.action === undefined) throw new Error(`${url} names no action of operators`)
    if (schema) schema.security ??= [{ operatorKey: [], operatorToken: [] }]
  })
  app.addHook('onRequest', async (request, reply) => {
    const operator = await findOperator(request)
    request.operator = operator
    request.logFields = { operator_id: operator.actor.id, operator_key: operator.key, ...request.logFields }
    requireAction(operator.role, request.routeOptions.config.action, forbidden)
    await reply.countForCaller(operator.actor.id)
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action that an operator does with the route. */
    action?: OperatorAction
  }
  interface FastifyRequest {
    /** Set on every operator route. */
    operator: Operator
  }
}
