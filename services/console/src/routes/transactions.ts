import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { readWithDecimals } from '../pages/money.ts'
import { addChangeRoutes } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendCsv, sendPage } from '../plugins/pages.ts'
import { readReasons } from '../transactions/dispute-view.ts'
import { transactionChanges } from '../transactions/transaction-changes.ts'
import {
  TransactionsQuery,
  transactionPage,
  transactionsPage,
  transactionsQuery,
} from '../transactions/transaction-pages.ts'
import { listTransactions, type ShownTransaction, TransactionView } from '../transactions/transaction-view.ts'

const LIST = '/operator/transactions'
const TransactionParams = z.object({ transactionId: z.string().max(64) })

export const transactionsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/transactions', { schema: { querystring: TransactionsQuery } }, async (request, reply) => {
    const { calls } = visitOf(request)
    const asked = transactionsQuery(request.query)
    if (request.query.format === 'csv') {
      return sendCsv(reply, 'transactions', await calls.openCsv('payments', LIST, { ...asked, limit: undefined }))
    }
    return sendPage(request, reply, transactionsPage(request.query, await listTransactions(calls, asked)))
  })

  app.get('/transactions/:transactionId', { schema: { params: TransactionParams } }, async (request, reply) => {
    const shown = await readTransaction(request, request.params)
    return sendPage(request, reply, transactionPage(shown, viewerOf(request)))
  })

  addChangeRoutes(app, '/transactions/:transactionId/:change', {
    params: TransactionParams,
    changeable: transactionChanges,
    read: readTransaction,
  })
}

async function readTransaction(
  request: FastifyRequest,
  { transactionId }: z.infer<typeof TransactionParams>,
): Promise<ShownTransaction> {
  const { calls } = visitOf(request)
  const asked = { path: `${LIST}/${encodeURIComponent(transactionId)}`, schema: TransactionView }
  const [{ value }, reasons] = await Promise.all([readWithDecimals(calls, asked), readReasons(calls)])
  return { ...value, reasons }
}
