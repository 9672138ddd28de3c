import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { pathId } from '../../bodies/fields.ts'
import { errorResponses } from '../../error-body.ts'
import { PayoutView, viewPayout } from '../../payouts/payout-view.ts'
import { replyCreated } from '../../plugins/answers.ts'
import { advanceClock } from '../../use-cases/advance-clock.ts'
import { payOut } from '../../use-cases/pay-out.ts'

const MerchantParams = z.object({ merchantId: pathId() })

/** Payouts and the clock of test merchants (reference: Test endpoints). */
export const testMerchantsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/test/merchants/:merchantId/payouts',
    {
      schema: {
        summary: 'Pay out all that is available (test merchants)',
        params: MerchantParams,
        response: { 201: z.object({ payout: PayoutView }), ...errorResponses(400, 401, 403, 404, 409, 413, 415) },
      },
    },
    async ({ caller, flaw, params: { merchantId } }, reply) => {
      const { payout, replayed } = await payOut(app.deps, { caller, flaw, merchantId })
      replyCreated(reply, replayed)
      return { payout: viewPayout(payout) }
    },
  )
  app.post(
    '/test/merchants/:merchantId/clock',
    {
      schema: {
        summary: 'Move the clock forward (test merchants)',
        params: MerchantParams,
        body: z.object({ advance: z.int().min(0) }),
        response: {
          201: z.object({ clock: z.object({ now: z.iso.datetime() }) }),
          ...errorResponses(400, 401, 403, 404, 409, 413, 415),
        },
      },
    },
    async ({ caller, flaw, params: { merchantId }, body }, reply) => {
      const input = { caller, flaw, merchantId, seconds: flaw ? null : body.advance }
      const { now, replayed } = await advanceClock(app.deps, input)
      replyCreated(reply, replayed)
      return { clock: { now: now.toISOString() } }
    },
  )
}
