import { z } from 'zod'
import { refuseMissing } from '../../access/require-access.ts'
import { DisputeView, viewDispute } from '../../disputes/dispute.ts'
import { findDisputeOfAll, listAllDisputes } from '../../disputes/dispute-repository.ts'
import { operatorAnswers } from '../../error-body.ts'
import type { PageBounds } from '../../pagination/page-query.ts'
import {
  answerAsCsv,
  listOrCsv,
  operatorListQuery,
  readOperatorPage,
  showOperatorPage,
} from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { id, pathId } from '../../requests/fields.ts'

const DisputesQuery = operatorListQuery('disputes').extend({
  status: z.enum(['open', 'won', 'lost']).optional().describe('Only disputes in this state'),
  merchant: id().optional().describe('Only disputes of this merchant'),
  transaction: id().optional().describe('Only disputes about this transaction'),
})

const CSV_COLUMNS = [
  ...['id', 'merchantId', 'transactionId', 'created', 'amount', 'currency'],
  ...['reason.code', 'reason.title', 'due', 'status', 'resolved'],
]

export const operatorDisputesRoutes: Routes = async (app) => {
  app.get(
    '/operator/disputes',
    {
      config: { action: 'disputes.read' },
      schema: {
        operationId: 'listDisputesAsOperator',
        tags: ['Operators'],
        summary: 'List the disputes of all merchants',
        querystring: DisputesQuery,
        response: { ...listOrCsv(z.object({ disputes: z.array(DisputeView) })), ...operatorAnswers(400) },
      },
    },
    async (request, reply) => {
      const { limit, status, merchant, transaction, ...place } = requireValues(request.query)
      const page = readOperatorPage('disputes', { limit, ...place })
      const filters = { status, merchant_id: merchant, transaction_id: transaction }
      const read = (bounds: PageBounds) => listAllDisputes(app.deps.operatorPools, { ...bounds, filters })
      const csv = { page, read, view: viewDispute, columns: CSV_COLUMNS }
      if (await answerAsCsv(request, reply, csv)) return reply
      const rows = await read(page)
      return { disputes: showOperatorPage(reply, 'disputes', { limit, rows }).map(viewDispute) }
    },
  )

  app.get(
    '/operator/disputes/:disputeId',
    {
      config: { action: 'disputes.read' },
      schema: {
        operationId: 'getDisputeAsOperator',
        tags: ['Operators'],
        summary: 'Fetch a dispute of any merchant',
        params: z.object({ disputeId: pathId() }),
        response: { 200: z.object({ dispute: DisputeView }), ...operatorAnswers() },
      },
    },
    async ({ params: { disputeId } }) => {
      const found = await findDisputeOfAll(app.deps.operatorPools, disputeId)
      return { dispute: viewDispute(found ?? refuseMissing()) }
    },
  )
}
