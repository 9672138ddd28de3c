import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { answerCreated } from '../../plugins/answers.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { pathId } from '../../requests/fields.ts'
import { VoidBody } from '../../transactions/operation-body.ts'
import { TransactionView, viewTransaction } from '../../transactions/transaction-view.ts'
import { runOperation } from '../../use-cases/run-operation.ts'

/** Voids of a transaction (reference: Operations). */
export const voidsRoutes: Routes = async (app) => {
  app.post(
    '/transactions/:transactionId/voids',
    {
      schema: {
        operationId: 'voidTransaction',
        tags: ['Transactions'],
        summary: 'Void an amount of a transaction',
        params: z.object({ transactionId: pathId() }),
        body: VoidBody,
        response: {
          201: z.object({ transaction: TransactionView }),
          ...errorAnswers(400, 401, 403, 404, 409, 413, 415),
        },
      },
    },
    async ({ caller, params: { transactionId }, body: operation }, reply) => {
      const input = { caller, transactionId, kind: 'void', operation } as const
      const { transaction, replayed } = await runOperation(app.deps, input)
      answerCreated(reply, { replayed })
      return { transaction: viewTransaction(transaction) }
    },
  )
}
