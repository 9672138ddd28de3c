import { z } from 'zod'
import { DisputeView, viewDispute } from '../../../disputes/dispute.ts'
import { errorAnswers } from '../../../error-body.ts'
import { answerCreated } from '../../../plugins/answers.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { closeDispute } from '../../../use-cases/close-dispute.ts'

/** Closes a dispute of a test merchant as an acquirer would (reference: Test endpoints). */
export const testOutcomesRoutes: Routes = async (app) => {
  app.post(
    '/test/disputes/:disputeId/outcomes',
    {
      schema: {
        operationId: 'closeTestDispute',
        tags: ['Test mode'],
        summary: 'Close a dispute (test merchants)',
        params: z.object({ disputeId: pathId() }),
        body: z.object({ outcome: z.enum(['won', 'lost']) }),
        response: {
          201: z.object({ dispute: DisputeView }),
          ...errorAnswers(400, 401, 403, 404, 409, 413, 415),
        },
      },
    },
    async ({ caller, params: { disputeId }, body: input }, reply) => {
      const { dispute, replayed } = await closeDispute(app.deps, { caller, disputeId, input })
      answerCreated(reply, { replayed })
      return { dispute: viewDispute(dispute) }
    },
  )
}
