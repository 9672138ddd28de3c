import { z } from 'zod'
import { DisputeView } from '../../../disputes/dispute.ts'
import { operatorAnswers } from '../../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { closeDisputeForOperator } from '../../../use-cases/operator/close-dispute.ts'

export const operatorDisputeOutcomeRoutes: Routes = async (app) => {
  app.post(
    '/operator/disputes/:disputeId/outcome',
    {
      config: { action: 'disputes.close' },
      schema: {
        operationId: 'closeDisputeAsOperator',
        tags: ['Operators'],
        summary: 'Record that a dispute was won or lost',
        params: z.object({ disputeId: pathId() }),
        body: z.object({ outcome: z.enum(['won', 'lost']) }),
        response: { 201: z.object({ dispute: DisputeView }), ...operatorAnswers(400, 403, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { outcome } = requireValues(request.body)
      const input = { change: readOperatorChange(request), disputeId: request.params.disputeId, outcome }
      return sendOperatorAnswer(reply, await closeDisputeForOperator(app.deps, input))
    },
  )
}
