import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { GivenFields } from '../pages/asked-change.ts'
import { pageQuery } from '../pages/list.ts'
import { readWithDecimals, type WithDecimals } from '../pages/money.ts'
import { allPayoutsChanges, payoutChanges } from '../payouts/payout-changes.ts'
import { PayoutsQuery, payoutsPage } from '../payouts/payout-list.ts'
import { type Payout, PayoutsView } from '../payouts/payout-view.ts'
import { answerChange, askChange, findById } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendCsv, sendPage } from '../plugins/pages.ts'
import { requirePaymentsId } from '../service-calls/service-call.ts'

const LIST = '/operator/payouts'
const ActParams = z.object({ change: z.string().max(32) })
const ChangeParams = z.object({
  merchantId: z.string().max(64),
  payoutId: z.string().max(64),
  change: z.string().max(32),
})

/**
 * The list of payouts, as a page or as CSV, the acts of operators on payouts that wait, and the outcome that the bank has told
 * of one.
 */
export const payoutsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/payouts', { schema: { querystring: PayoutsQuery } }, async (request, reply) => {
    const { merchant, status, format, ...place } = request.query
    const { calls } = visitOf(request)
    const asked = { ...pageQuery(place), merchant, status }
    if (format === 'csv') {
      return sendCsv(reply, 'payouts', await calls.openCsv('payments', LIST, { ...asked, limit: undefined }))
    }
    const listed = await readWithDecimals(calls, { path: LIST, schema: PayoutsView, query: asked })
    return sendPage(request, reply, payoutsPage(request.query, listed, viewerOf(request)))
  })

  app.get('/payouts/:change', { schema: { params: ActParams, querystring: GivenFields } }, (request, reply) =>
    askChange(request, reply, allPayoutsChanges, { name: request.params.change, shown: undefined }),
  )

  app.post('/payouts/:change', { schema: { params: ActParams, body: GivenFields } }, (request, reply) =>
    answerChange(request, reply, allPayoutsChanges, { name: request.params.change, shown: undefined }),
  )

  app.get(
    '/payouts/:merchantId/:payoutId/:change',
    { schema: { params: ChangeParams, querystring: GivenFields } },
    async (request, reply) => {
      const named = { name: request.params.change, shown: await readPayout(request, request.params) }
      return askChange(request, reply, payoutChanges, named)
    },
  )

  app.post(
    '/payouts/:merchantId/:payoutId/:change',
    { schema: { params: ChangeParams, body: GivenFields } },
    async (request, reply) => {
      const named = { name: request.params.change, shown: await readPayout(request, request.params) }
      return answerChange(request, reply, payoutChanges, named)
    },
  )
}

/** Payouts have no address of their own. A merchant has few of which the bank has said nothing, at most one a day. */
async function readPayout(
  request: FastifyRequest,
  { merchantId, payoutId }: z.infer<typeof ChangeParams>,
): Promise<WithDecimals<Payout>> {
  const query = { merchant: requirePaymentsId(merchantId), limit: 100 }
  const { value } = await readWithDecimals(visitOf(request).calls, { path: LIST, schema: PayoutsView, query })
  return { ...findById(value.payouts, payoutId), decimals: value.decimals }
}
