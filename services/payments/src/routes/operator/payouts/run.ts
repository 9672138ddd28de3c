import { z } from 'zod'
import { operatorAnswers } from '../../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { id } from '../../../requests/fields.ts'
import { runPayouts } from '../../../use-cases/run-payouts.ts'

export const operatorPayoutRunRoutes: Routes = async (app) => {
  app.post(
    '/operator/payouts/run',
    {
      config: { action: 'payouts.run' },
      schema: {
        operationId: 'runPayouts',
        tags: ['Operators'],
        summary: 'Pay out one merchant, or all with a balance above 0',
        body: z.object({ merchant: id().optional().describe('This merchant alone') }),
        bodyRequired: false,
        response: {
          202: z.object({ job: z.string().describe('The job that pays out') }),
          ...operatorAnswers(400, 403, 409, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { merchant: merchantId } = requireValues(request.body)
      const input = { change: readOperatorChange(request), merchantId }
      return sendOperatorAnswer(reply, await runPayouts(app.deps, input))
    },
  )
}
