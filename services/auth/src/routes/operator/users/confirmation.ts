import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { recordUserChange } from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { requireId } from '../../../records/ids.ts'
import { idField } from '../../../requests/fields.ts'
import { changeUserAsAdmin } from '../../../use-cases/change-user-as-admin.ts'
import { parseAdminUser } from '../../../users/admin-user-request.ts'
import { requireAddress } from '../../../users/user.ts'
import { UserView } from '../../../users/user-view.ts'

const schema = {
  operationId: 'confirmUser',
  tags: ['Operators'],
  summary: 'Confirm the email or the phone of a user',
  params: z.object({ userId: idField }),
  body: z.object({ kind: z.enum(['email', 'phone']) }),
  response: { 200: z.object({ user: UserView }), ...errorAnswers(400, 401, 403, 404, 409, 413, 422) },
}

/** `POST /operator/users/:userId/confirmation`: confirms an address of a user (console reference: Routes of auth). */
export const operatorConfirmationRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const options = { config: { action: 'users.confirm', namesFields: true }, schema } as const
  app.post('/operator/users/:userId/confirmation', options, (request, reply) =>
    answerChange(request, reply, async (change, by) => {
      const { kind } = request.body
      const userId = requireId('user_id', request.params.userId)
      const wanted = parseAdminUser(deps.config, { [`${kind}_confirm`]: true })
      const runWork = recordUserChange(change, { kind })
      return changeUserAsAdmin(deps, { ...by, userId, wanted }, (trx, own, work) =>
        runWork(trx, own, async () => requireAddress(await work(), kind)),
      )
    }),
  )
}
