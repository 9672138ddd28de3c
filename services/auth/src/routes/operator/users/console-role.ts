import { OPERATOR_ROLES } from '@trestle/operators/operator-roles.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { recordUserChange, requireAnother } from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { requireId } from '../../../records/ids.ts'
import { idField } from '../../../requests/fields.ts'
import { assignConsoleRole } from '../../../use-cases/assign-console-role.ts'
import { UserView } from '../../../users/user-view.ts'

const schema = {
  operationId: 'assignConsoleRole',
  tags: ['Operators'],
  summary: 'Give, change or take the console role of a user',
  params: z.object({ userId: idField }),
  body: z.object({
    role: z.enum(OPERATOR_ROLES).nullish().meta({ description: 'null takes the role away, as does a body without it' }),
  }),
  response: { 200: z.object({ user: UserView }), ...errorAnswers(400, 401, 403, 404, 409, 413) },
}

/** `PUT /operator/users/:userId/console-role`: sets a console role (console reference: Console roles in auth). */
export const operatorConsoleRoleRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const options = { config: { action: 'users.assign-role', namesFields: true }, schema } as const
  app.put('/operator/users/:userId/console-role', options, (request, reply) =>
    answerChange(request, reply, async (change, by) => {
      const { role = null } = request.body
      const userId = requireId('user_id', request.params.userId)
      requireAnother(change, userId)
      return assignConsoleRole(deps, { ...by, userId, role }, recordUserChange(change, { role }))
    }),
  )
}
