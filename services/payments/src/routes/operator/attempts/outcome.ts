import { z } from 'zod'
import { operatorAnswers } from '../../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { AttemptView } from '../../../transactions/attempt-view.ts'
import { resolveAttempt } from '../../../use-cases/resolve-attempt.ts'

export const operatorAttemptOutcomeRoutes: Routes = async (app) => {
  app.post(
    '/operator/attempts/:attemptId/outcome',
    {
      config: { action: 'attempts.resolve' },
      schema: {
        operationId: 'resolveAttempt',
        tags: ['Operators'],
        summary: 'Record the outcome of an authorization. An approval is given back',
        params: z.object({ attemptId: pathId() }),
        body: z.object({ outcome: z.enum(['approved', 'declined']) }),
        response: { 201: z.object({ attempt: AttemptView }), ...operatorAnswers(400, 403, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { outcome } = requireValues(request.body)
      const input = { change: readOperatorChange(request), attemptId: request.params.attemptId, outcome }
      return sendOperatorAnswer(reply, await resolveAttempt(app.deps, input))
    },
  )
}
