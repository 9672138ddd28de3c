import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { amount, instant, pathId } from '../../bodies/fields.ts'
import { DEFAULT_REASON_CODE, reasonTitle } from '../../disputes/dispute.ts'
import { DisputeView, viewDispute } from '../../disputes/dispute-view.ts'
import { FraudView, viewFraud } from '../../disputes/fraud-view.ts'
import { errorResponses } from '../../error-body.ts'
import { replyCreated } from '../../plugins/answers.ts'
import { openDispute } from '../../use-cases/open-dispute.ts'
import { reportFraud } from '../../use-cases/report-fraud.ts'

const reasonCode = z
  .int()
  .refine((code) => reasonTitle(code) !== undefined, { error: 'must be a known reason', params: { code: 'UNKNOWN' } })

const DisputeBody = z.object({
  amount: amount().optional(),
  reason: z.object({ code: reasonCode.optional() }).optional(),
})
const FraudBody = z.object({
  reason: z.int().min(0).max(8).optional(),
  reported: instant().optional(),
})
const TransactionParams = z.object({ transactionId: pathId() })

/** Opens disputes and stores fraud alerts of test merchants, as an acquirer would (reference: Test endpoints). */
export const testTransactionsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/test/transactions/:transactionId/disputes',
    {
      schema: {
        summary: 'Open a dispute (test merchants)',
        params: TransactionParams,
        body: DisputeBody,
        response: {
          201: z.object({ dispute: DisputeView }),
          ...errorResponses(400, 401, 403, 404, 409, 413, 415),
        },
      },
    },
    async ({ caller, flaw, params: { transactionId }, body }, reply) => {
      const code = flaw ? DEFAULT_REASON_CODE : (body.reason?.code ?? DEFAULT_REASON_CODE)
      const given = { amount: body.amount, reasonCode: code, reasonTitle: reasonTitle(code) ?? '' }
      const input = { caller, flaw, transactionId, dispute: flaw ? null : given }
      const { dispute, replayed } = await openDispute(app.deps, input)
      replyCreated(reply, replayed)
      return { dispute: viewDispute(dispute) }
    },
  )
  app.post(
    '/test/transactions/:transactionId/frauds',
    {
      schema: {
        summary: 'Store a fraud alert (test merchants)',
        params: TransactionParams,
        body: FraudBody,
        response: { 201: z.object({ fraud: FraudView }), ...errorResponses(400, 401, 403, 404, 409, 413, 415) },
      },
    },
    async ({ caller, flaw, params: { transactionId }, body }, reply) => {
      const input = { caller, flaw, transactionId, fraud: flaw ? null : body }
      const { fraud, replayed } = await reportFraud(app.deps, input)
      replyCreated(reply, replayed)
      return { fraud: viewFraud(fraud) }
    },
  )
}
