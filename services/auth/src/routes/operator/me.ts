import { operatorView } from '@trestle/operators/operator-routes.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'

const OperatorView = operatorView('The user who acts, with their console role')

/** Returns the calling operator (console reference: Who one is). */
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
