import { z } from 'zod'
import { requireObject } from '../access/require-access.ts'
import { errorAnswers } from '../error-body.ts'
import type { InTurn } from '../pagination/page-query.ts'
import type { Routes } from '../plugins/read-request.ts'
import { pathId } from '../requests/fields.ts'
import { readTransaction } from '../transactions/transaction-repository.ts'
import { TransactionView, viewTransaction } from '../transactions/transaction-view.ts'

/** Reads one transaction (reference: Reading transactions and lines). */
export const transactionsRoutes: Routes = async (app) => {
  app.get(
    '/transactions/:transactionId',
    {
      schema: {
        operationId: 'getTransaction',
        tags: ['Transactions'],
        summary: 'Get a transaction',
        params: z.object({ transactionId: pathId() }),
        response: { 200: z.object({ transaction: TransactionView }), ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const { caller, input, params } = request
      const withSlots: InTurn = (entries, read) => request.withSlots(entries, read)
      const result = await readTransaction(app.deps.pools, { ...caller, id: params.transactionId }, withSlots)
      const transaction = requireObject(caller, result, { input, name: 'transaction' })
      return { transaction: viewTransaction(transaction) }
    },
  )
}
