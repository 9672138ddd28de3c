import { z } from 'zod'
import { DisputeBody, DisputeView, toNewDispute } from '../../../disputes/dispute.ts'
import { operatorAnswers } from '../../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { pathId, reference } from '../../../requests/fields.ts'
import { openDisputeForOperator } from '../../../use-cases/operator/open-dispute.ts'

export const operatorTransactionDisputesRoutes: Routes = async (app) => {
  app.post(
    '/operator/transactions/:transactionId/disputes',
    {
      config: { action: 'disputes.open' },
      schema: {
        operationId: 'openDisputeAsOperator',
        tags: ['Operators'],
        summary: 'Open a dispute that came on paper',
        params: z.object({ transactionId: pathId() }),
        body: DisputeBody.extend({
          currency: z
            .string()
            .regex(/^[A-Z]{3}$/)
            .optional()
            .describe("The issuer's; by default that of the transaction"),
          reference: reference().optional().describe("The acquirer's: a dispute is opened once under it"),
        }),
        bodyRequired: false,
        response: { 201: z.object({ dispute: DisputeView }), ...operatorAnswers(400, 403, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { transactionId } = request.params
      const { reference: acquirerRef, ...asked } = requireValues(request.body)
      const dispute = { ...toNewDispute(asked), currency: asked.currency, acquirerRef }
      const input = { change: readOperatorChange(request), transactionId, dispute }
      return sendOperatorAnswer(reply, await openDisputeForOperator(app.deps, input))
    },
  )
}
