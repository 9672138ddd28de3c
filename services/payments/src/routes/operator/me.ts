import { operatorView } from '@trestle/operators/operator-routes.ts'
import { z } from 'zod'
import { operatorAnswers } from '../../error-body.ts'
import type { Routes } from '../../plugins/read-request.ts'

const OperatorView = operatorView('The user of auth who acts, with their console role')

/** Returns the calling operator (console reference: Who one is). */
export const operatorMeRoutes: Routes = async (app) => {
  app.get(
    '/operator/me',
    {
      config: { action: 'operators.identify' },
      schema: {
        operationId: 'getOperator',
        tags: ['Operators'],
        summary: 'Get the operator who calls',
        response: { 200: z.object({ operator: OperatorView }), ...operatorAnswers() },
      },
    },
    async ({ operator: { key, role, actor } }) => ({ operator: { key, role, actor } }),
  )
}
