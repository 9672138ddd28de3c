import { z } from 'zod'
import { refuseMissing } from '../../access/require-access.ts'
import { operatorAnswers } from '../../error-body.ts'
import type { PageBounds } from '../../pagination/page-query.ts'
import { PayoutView, viewPayout } from '../../payouts/payout.ts'
import { findPayoutOfAll, listPayoutsOfAll } from '../../payouts/payout-repository.ts'
import {
  answerAsCsv,
  listOrCsv,
  operatorListQuery,
  readOperatorPage,
  showOperatorPage,
} from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { id, pathId } from '../../requests/fields.ts'

const PayoutsQuery = operatorListQuery('payouts').extend({
  status: z.enum(['created', 'exported', 'settled', 'failed']).optional().describe('Only payouts in this state'),
  merchant: id().optional().describe('Only payouts of this merchant'),
})

const CSV_COLUMNS = ['id', 'merchantId', 'created', 'test', 'currency', 'amount', 'status', 'bank.iban', 'lineId']

export const operatorPayoutsRoutes: Routes = async (app) => {
  app.get(
    '/operator/payouts',
    {
      config: { action: 'payouts.read' },
      schema: {
        operationId: 'listPayoutsAsOperator',
        tags: ['Operators'],
        summary: 'List the payouts of all merchants',
        querystring: PayoutsQuery,
        response: { ...listOrCsv(z.object({ payouts: z.array(PayoutView) })), ...operatorAnswers(400) },
      },
    },
    async (request, reply) => {
      const { status, merchant, ...place } = requireValues(request.query)
      const page = readOperatorPage('payouts', place)
      const filters = { status, merchant_id: merchant }
      const read = (bounds: PageBounds) => listPayoutsOfAll(app.deps.operatorPools, { ...bounds, filters })
      if (await answerAsCsv(request, reply, { page, read, view: viewPayout, columns: CSV_COLUMNS })) return reply
      const rows = await read(page)
      return { payouts: showOperatorPage(reply, 'payouts', { limit: place.limit, rows }).map(viewPayout) }
    },
  )

  app.get(
    '/operator/payouts/:payoutId',
    {
      config: { action: 'payouts.read' },
      schema: {
        operationId: 'getPayoutAsOperator',
        tags: ['Operators'],
        summary: 'Fetch a payout of any merchant',
        params: z.object({ payoutId: pathId() }),
        response: { 200: z.object({ payout: PayoutView }), ...operatorAnswers() },
      },
    },
    async ({ params: { payoutId } }) => {
      const found = await findPayoutOfAll(app.deps.operatorPools, payoutId)
      return { payout: viewPayout(found ?? refuseMissing()) }
    },
  )
}
