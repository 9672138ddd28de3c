import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { answerCreated } from '../../plugins/answers.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { pathId } from '../../requests/fields.ts'
import { CaptureBody } from '../../transactions/operation-body.ts'
import { TransactionView, viewTransaction } from '../../transactions/transaction-view.ts'
import { runOperation } from '../../use-cases/run-operation.ts'

/** Captures of a transaction (reference: Operations). */
export const capturesRoutes: Routes = async (app) => {
  app.post(
    '/transactions/:transactionId/captures',
    {
      schema: {
        operationId: 'captureTransaction',
        tags: ['Transactions'],
        summary: 'Capture an amount of a transaction',
        params: z.object({ transactionId: pathId() }),
        body: CaptureBody,
        response: {
          201: z.object({ transaction: TransactionView }),
          ...errorAnswers(400, 401, 403, 404, 409, 413, 415),
        },
      },
    },
    async ({ caller, params: { transactionId }, body: operation }, reply) => {
      const input = { caller, transactionId, kind: 'capture', operation } as const
      const { transaction, replayed } = await runOperation(app.deps, input)
      answerCreated(reply, { replayed })
      return { transaction: viewTransaction(transaction) }
    },
  )
}
