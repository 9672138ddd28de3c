import { z } from 'zod'
import { mapInput } from '../../../access/require-access.ts'
import { DisputeBody, DisputeView, toNewDispute, viewDispute } from '../../../disputes/dispute.ts'
import { errorAnswers } from '../../../error-body.ts'
import { answerCreated } from '../../../plugins/answers.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { openDispute } from '../../../use-cases/open-dispute.ts'

/** Opens a dispute of a test merchant as an acquirer would (reference: Test endpoints). */
export const testTransactionDisputesRoutes: Routes = async (app) => {
  app.post(
    '/test/transactions/:transactionId/disputes',
    {
      schema: {
        operationId: 'openTestDispute',
        tags: ['Test mode'],
        summary: 'Open a dispute (test merchants)',
        params: z.object({ transactionId: pathId() }),
        body: DisputeBody,
        bodyRequired: false,
        response: {
          201: z.object({ dispute: DisputeView }),
          ...errorAnswers(400, 401, 403, 404, 409, 413, 415),
        },
      },
    },
    async ({ caller, params: { transactionId }, body }, reply) => {
      const input = mapInput(body, toNewDispute)
      const { dispute, replayed } = await openDispute(app.deps, { caller, transactionId, input })
      answerCreated(reply, { replayed })
      return { dispute: viewDispute(dispute) }
    },
  )
}
