import { OPERATOR_ROLES } from '@trestle/operators/operator-roles.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'

const OperatorView = z
  .object({
    key: z.string().meta({ description: 'The name of the operator key' }),
    role: z.enum(OPERATOR_ROLES).meta({ description: 'What the operator may do by this key' }),
    actor: z
      .object({ id: z.guid(), email: z.string(), role: z.enum(OPERATOR_ROLES) })
      .meta({ description: 'The user who acts, with their console role' }),
  })
  .meta({ id: 'Operator' })

/** Tells an operator who they are (console reference: Who one is). */
export const operatorMeRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/operator/me',
    {
      config: { action: 'operators.identify' },
      schema: {
        operationId: 'getOperator',
        tags: ['Operators'],
        summary: 'Get the operator who calls',
        response: { 200: z.object({ operator: OperatorView }), ...errorAnswers(401, 404) },
      },
    },
    async ({ operator: { key, role, actor } }) => ({ operator: { key, role, actor } }),
  )
}
