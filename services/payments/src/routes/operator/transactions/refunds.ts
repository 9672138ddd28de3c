import { z } from 'zod'
import { operatorAnswers, refundForbidden } from '../../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { RefundBody } from '../../../transactions/operation-body.ts'
import { TransactionView } from '../../../transactions/transaction-view.ts'
import { runOperationAsOperator } from '../../../use-cases/run-operation-as-operator.ts'

/** Refunds by operators (console reference: Routes of payments). */
export const operatorRefundsRoutes: Routes = async (app) => {
  app.post(
    '/operator/transactions/:transactionId/refunds',
    {
      config: { action: 'transactions.refund' },
      schema: {
        operationId: 'refundTransactionAsOperator',
        tags: ['Operators'],
        summary: "Refund an amount of any merchant's transaction",
        params: z.object({ transactionId: pathId() }),
        body: RefundBody,
        response: {
          201: z.object({ transaction: TransactionView }),
          ...operatorAnswers(400, 403, 409, 413, 415),
          ...refundForbidden,
        },
      },
    },
    async (request, reply) => {
      const { transactionId } = request.params
      const change = readOperatorChange(request)
      const input = { change, transactionId, kind: 'refund', fields: requireValues(request.body) } as const
      return sendOperatorAnswer(reply, await runOperationAsOperator(app.deps, input))
    },
  )
}
