import { OPERATOR_ROLES } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import { operatorAnswers } from '../../error-body.ts'
import type { Routes } from '../../plugins/read-request.ts'

const OperatorView = z
  .object({
    key: z.string().describe('The name of the operator key'),
    role: z.enum(OPERATOR_ROLES).describe('What the operator may do by this key'),
    actor: z
      .object({ id: z.guid(), email: z.string(), role: z.enum(OPERATOR_ROLES) })
      .describe('The user of auth who acts, with their console role'),
  })
  .meta({ id: 'Operator' })

/** Tells an operator who they are (console reference: Who one is). */
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
