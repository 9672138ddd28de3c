import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { recordOperatorChange } from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { requireId } from '../../../records/ids.ts'
import { idField, SinceField } from '../../../requests/fields.ts'
import { type SecuredUser, secureUser } from '../../../use-cases/secure-user.ts'

const schema = {
  operationId: 'secureUser',
  tags: ['Operators'],
  summary: 'End what was made of a user since a time',
  params: z.object({ userId: idField }),
  body: z.object({ since: SinceField }),
  response: {
    200: z.object({
      sessions: z.int().meta({ description: 'How many sessions have ended' }),
      passkeys: z.int().meta({ description: 'How many passkeys were removed' }),
      factors: z.int().meta({ description: 'How many second factors were removed. Recovery codes count as one' }),
    }),
    ...errorAnswers(400, 401, 403, 404, 409, 413),
  },
}

/** `POST /operator/users/:userId/secure`: removes what was added since a time (auth reference: Securing an account). */
export const operatorSecureRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const options = { config: { action: 'users.secure', namesFields: true }, schema } as const
  app.post('/operator/users/:userId/secure', options, (request, reply) =>
    answerChange(request, reply, async (change, by) => {
      const userId = requireId('user_id', request.params.userId)
      const since = new Date(request.body.since)
      const runWork = recordOperatorChange<SecuredUser>(change, (answer) => {
        const changes = { since: since.toISOString(), ...answer }
        return { status: 200, answer, object: { kind: 'user', id: userId }, changes }
      })
      return secureUser(deps, { ...by, userId, since }, runWork)
    }),
  )
}
