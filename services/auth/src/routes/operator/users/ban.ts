import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { requireId } from '../../../records/ids.ts'
import { idField } from '../../../requests/documented-fields.ts'
import { changeUserAsOperator } from '../../../use-cases/change-user-as-operator.ts'
import { BanDuration } from '../../../users/admin-user-request.ts'
import { UserView } from '../../../users/user-view.ts'

const UserPath = z.object({ userId: idField })
const UserAnswer = z.object({ user: UserView })

/** `/operator/users/:userId/ban`: bans of a user, for operators (console reference: Routes of auth). */
export const operatorBanRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app

  app.put(
    '/operator/users/:userId/ban',
    {
      config: { action: 'users.ban', namesFields: true },
      schema: {
        operationId: 'banUser',
        tags: ['Operators'],
        summary: 'Ban a user',
        params: UserPath,
        body: z.object({ duration: BanDuration }),
        response: { 200: UserAnswer, ...errorAnswers(400, 401, 403, 404, 409, 413) },
      },
    },
    (request, reply) =>
      answerChange(request, reply, async (change) => {
        const userId = requireId('user_id', request.params.userId)
        const { duration } = request.body
        return changeUserAsOperator(deps, { change, userId, fields: { ban_duration: duration }, changes: { duration } })
      }),
  )

  app.delete(
    '/operator/users/:userId/ban',
    {
      config: { action: 'users.ban' },
      schema: {
        operationId: 'unbanUser',
        tags: ['Operators'],
        summary: 'End the ban of a user',
        params: UserPath,
        response: { 200: UserAnswer, ...errorAnswers(400, 401, 403, 404, 409, 413) },
      },
    },
    (request, reply) =>
      answerChange(request, reply, async (change) => {
        const userId = requireId('user_id', request.params.userId)
        const changes = { duration: 'none' }
        return changeUserAsOperator(deps, { change, userId, fields: { ban_duration: 'none' }, changes })
      }),
  )
}
