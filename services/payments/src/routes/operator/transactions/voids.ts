import { z } from 'zod'
import { operationForbidden, operatorAnswers } from '../../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { VoidBody } from '../../../transactions/operation-body.ts'
import { TransactionView } from '../../../transactions/transaction-view.ts'
import { runOperationAsOperator } from '../../../use-cases/run-operation-as-operator.ts'

/** Voids by operators (console reference: Routes of payments). */
export const operatorVoidsRoutes: Routes = async (app) => {
  app.post(
    '/operator/transactions/:transactionId/voids',
    {
      config: { action: 'transactions.void' },
      schema: {
        operationId: 'voidTransactionAsOperator',
        tags: ['Operators'],
        summary: "Void an amount of any merchant's transaction",
        params: z.object({ transactionId: pathId() }),
        body: VoidBody,
        response: {
          201: z.object({ transaction: TransactionView }),
          ...operatorAnswers(400, 403, 409, 413, 415),
          ...operationForbidden,
        },
      },
    },
    async (request, reply) => {
      const { transactionId } = request.params
      const change = readOperatorChange(request)
      const input = { change, transactionId, kind: 'void', fields: requireValues(request.body) } as const
      return sendOperatorAnswer(reply, await runOperationAsOperator(app.deps, input))
    },
  )
}
