import { z } from 'zod'
import { operatorAnswers } from '../../../error-body.ts'
import { PayoutView } from '../../../payouts/payout.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { closePayout } from '../../../use-cases/close-payout.ts'

export const operatorPayoutOutcomeRoutes: Routes = async (app) => {
  app.post(
    '/operator/payouts/:payoutId/outcome',
    {
      config: { action: 'payouts.close' },
      schema: {
        operationId: 'closePayout',
        tags: ['Operators'],
        summary: 'Record that the bank has paid, or could not pay',
        params: z.object({ payoutId: pathId() }),
        body: z.object({ outcome: z.enum(['settled', 'failed']) }),
        response: { 201: z.object({ payout: PayoutView }), ...operatorAnswers(400, 403, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { outcome } = requireValues(request.body)
      const input = { change: readOperatorChange(request), payoutId: request.params.payoutId, outcome }
      return sendOperatorAnswer(reply, await closePayout(app.deps, input))
    },
  )
}
