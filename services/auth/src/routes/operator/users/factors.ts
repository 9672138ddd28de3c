import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import type { Factor } from '../../../factors/factor.ts'
import { recordOperatorChange } from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { requireId } from '../../../records/ids.ts'
import { idField } from '../../../requests/fields.ts'
import { unenrolFactorAsAdmin } from '../../../use-cases/change-factor-as-admin.ts'
import { FactorView, viewFactor } from '../../../users/user-view.ts'

const schema = {
  operationId: 'resetFactor',
  tags: ['Operators'],
  summary: 'Remove a second factor of a user',
  params: z.object({ userId: idField, factorId: idField }),
  response: { 200: z.object({ factor: FactorView }), ...errorAnswers(400, 401, 403, 404, 409, 413) },
}

/** `DELETE /operator/users/:userId/factors/:factorId`: removes a second factor that the user has lost. */
export const operatorFactorsRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const options = { config: { action: 'factors.reset' }, schema } as const
  app.delete('/operator/users/:userId/factors/:factorId', options, (request, reply) =>
    answerChange(request, reply, async (change, by) => {
      const userId = requireId('user_id', request.params.userId)
      const factorId = requireId('factor_id', request.params.factorId)
      const runWork = recordOperatorChange<Factor>(change, (factor) => {
        const changes = { factor: { id: factorId, type: factor.factorType } }
        return { status: 200, answer: { factor: viewFactor(factor) }, object: { kind: 'user', id: userId }, changes }
      })
      return unenrolFactorAsAdmin(deps, { ...by, userId, factorId }, runWork)
    }),
  )
}
