import { z } from 'zod'
import { FraudView, viewFraud } from '../../disputes/fraud.ts'
import { listAllFrauds } from '../../disputes/fraud-repository.ts'
import { operatorAnswers } from '../../error-body.ts'
import { operatorListQuery, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { id } from '../../requests/fields.ts'

const FraudsQuery = operatorListQuery('frauds').extend({
  merchant: id().optional().describe('Only alerts of this merchant'),
  transaction: id().optional().describe('Only alerts about this transaction'),
})

export const operatorFraudsRoutes: Routes = async (app) => {
  app.get(
    '/operator/frauds',
    {
      config: { action: 'disputes.read' },
      schema: {
        operationId: 'listFraudsAsOperator',
        tags: ['Operators'],
        summary: 'List the fraud alerts of all merchants',
        querystring: FraudsQuery,
        response: { 200: z.object({ frauds: z.array(FraudView) }), ...operatorAnswers(400) },
      },
    },
    async ({ query }, reply) => {
      const { merchant, transaction, ...place } = requireValues(query)
      const filters = { merchant_id: merchant, transaction_id: transaction }
      const rows = await listAllFrauds(app.deps.operatorPools, { ...readOperatorPage('frauds', place), filters })
      return { frauds: showOperatorPage(reply, 'frauds', { limit: place.limit, rows }).map(viewFraud) }
    },
  )
}
