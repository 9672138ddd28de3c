import { z } from 'zod'
import { refuseMissing } from '../../../access/require-access.ts'
import { operatorAnswers } from '../../../error-body.ts'
import { LineView, viewLine } from '../../../ledger/line.ts'
import { listLinesForOperator } from '../../../ledger/line-repository.ts'
import { findMerchantForOperator } from '../../../merchants/operator-merchant-repository.ts'
import type { PageBounds } from '../../../pagination/page-query.ts'
import {
  answerAsCsv,
  listOrCsv,
  operatorListQuery,
  readOperatorPage,
  showOperatorPage,
} from '../../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'

const CSV_COLUMNS = [
  ...[
    'id',
    'merchantId',
    'created',
    'test',
    'capture',
    'refund',
    'dispute',
    'payout',
    'payoutReversal',
    'adjustment',
    'amount.currency',
  ],
  ...['amount.amount', 'balance', 'fee', 'balanceAfter', 'transactionId', 'description', 'fundingCurrency'],
]

export const operatorLinesRoutes: Routes = async (app) => {
  app.get(
    '/operator/merchants/:merchantId/lines',
    {
      config: { action: 'merchants.read' },
      schema: {
        operationId: 'listLinesAsOperator',
        tags: ['Operators'],
        summary: 'List the lines of any merchant',
        params: z.object({ merchantId: pathId() }),
        querystring: operatorListQuery('lines'),
        response: { ...listOrCsv(z.object({ lines: z.array(LineView) })), ...operatorAnswers(400) },
      },
    },
    async (request, reply) => {
      const place = requireValues(request.query)
      const { merchantId } = request.params
      const { merchant } = (await findMerchantForOperator(app.deps.operatorPools, merchantId)) ?? refuseMissing()
      const page = readOperatorPage('lines', place)
      const read = (bounds: PageBounds) =>
        listLinesForOperator(app.deps.operatorPools, { ...bounds, merchantId: merchant.id })
      if (await answerAsCsv(request, reply, { page, read, view: viewLine, columns: CSV_COLUMNS })) return reply
      const rows = await read(page)
      return { lines: showOperatorPage(reply, 'lines', { limit: place.limit, rows }).map(viewLine) }
    },
  )
}
