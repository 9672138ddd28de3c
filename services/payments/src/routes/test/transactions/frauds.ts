import { z } from 'zod'
import { FraudView, viewFraud } from '../../../disputes/fraud.ts'
import { errorAnswers } from '../../../error-body.ts'
import { answerCreated } from '../../../plugins/answers.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { instant, pathId } from '../../../requests/fields.ts'
import { addFraud } from '../../../use-cases/add-fraud.ts'

const FraudBody = z.object({
  reason: z.int().min(0).max(8).optional(),
  reported: instant().optional(),
})

/** Adds a fraud alert of a test merchant as an acquirer would (reference: Test endpoints). */
export const testTransactionFraudsRoutes: Routes = async (app) => {
  app.post(
    '/test/transactions/:transactionId/frauds',
    {
      schema: {
        operationId: 'addTestFraudAlert',
        tags: ['Test mode'],
        summary: 'Add a fraud alert (test merchants)',
        params: z.object({ transactionId: pathId() }),
        body: FraudBody,
        bodyRequired: false,
        response: { 201: z.object({ fraud: FraudView }), ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
      },
    },
    async ({ caller, params: { transactionId }, body: input }, reply) => {
      const { fraud, replayed } = await addFraud(app.deps, { caller, transactionId, input })
      answerCreated(reply, { replayed })
      return { fraud: viewFraud(fraud) }
    },
  )
}
