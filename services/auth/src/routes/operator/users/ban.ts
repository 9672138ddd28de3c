import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { recordUserChange } from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { requireId } from '../../../records/ids.ts'
import { idField } from '../../../requests/fields.ts'
import { changeUserAsAdmin } from '../../../use-cases/change-user-as-admin.ts'
import { BanDuration, parseAdminUser } from '../../../users/admin-user-request.ts'
import { UserView } from '../../../users/user-view.ts'

const banSchema = {
  operationId: 'banUser',
  tags: ['Operators'],
  summary: 'Ban a user',
  params: z.object({ userId: idField }),
  body: z.object({ duration: BanDuration }),
  response: { 200: z.object({ user: UserView }), ...errorAnswers(400, 401, 403, 404, 409, 413) },
}
const unbanSchema = {
  operationId: 'unbanUser',
  tags: ['Operators'],
  summary: 'End the ban of a user',
  params: z.object({ userId: idField }),
  response: { 200: z.object({ user: UserView }), ...errorAnswers(400, 401, 403, 404, 409, 413) },
}

export const operatorBanRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app

  app.put(
    '/operator/users/:userId/ban',
    { config: { action: 'users.ban', namesFields: true }, schema: banSchema },
    (request, reply) =>
      answerChange(request, reply, async (change, by) => {
        const { duration } = request.body
        const userId = requireId('user_id', request.params.userId)
        const wanted = parseAdminUser(deps.config, { ban_duration: duration })
        return changeUserAsAdmin(deps, { ...by, userId, wanted }, recordUserChange(change, { duration }))
      }),
  )

  app.delete(
    '/operator/users/:userId/ban',
    { config: { action: 'users.ban' }, schema: unbanSchema },
    (request, reply) =>
      answerChange(request, reply, async (change, by) => {
        const userId = requireId('user_id', request.params.userId)
        const wanted = parseAdminUser(deps.config, { ban_duration: 'none' })
        return changeUserAsAdmin(deps, { ...by, userId, wanted }, recordUserChange(change, { duration: 'none' }))
      }),
  )
}
