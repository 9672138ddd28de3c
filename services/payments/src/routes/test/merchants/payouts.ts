import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { PayoutView, viewPayout } from '../../../payouts/payout.ts'
import { answerCreated } from '../../../plugins/answers.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { payOut } from '../../../use-cases/pay-out.ts'

/** Pays out to a test merchant immediately instead of on schedule (reference: Test endpoints). */
export const testPayoutsRoutes: Routes = async (app) => {
  app.post(
    '/test/merchants/:merchantId/payouts',
    {
      schema: {
        operationId: 'payOutTestMerchant',
        tags: ['Test mode'],
        summary: 'Pay out all that is available (test merchants)',
        params: z.object({ merchantId: pathId() }),
        response: { 201: z.object({ payout: PayoutView }), ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
      },
    },
    async ({ caller, input, params: { merchantId } }, reply) => {
      const { payout, replayed } = await payOut(app.deps, { caller, merchantId, input })
      answerCreated(reply, { replayed })
      return { payout: viewPayout(payout) }
    },
  )
}
