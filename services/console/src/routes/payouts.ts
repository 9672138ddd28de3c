import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { pageQuery } from '../pages/list.ts'
import { readWithDecimals, type WithDecimals } from '../pages/money.ts'
import { type Payout, PayoutsView, PayoutView, payoutChanges } from '../payouts/payout-changes.ts'
import { PayoutsQuery, payoutPage, payoutsPage } from '../payouts/payout-pages.ts'
import { addChangeRoutes } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendCsv, sendPage } from '../plugins/pages.ts'
import { requirePaymentsId } from '../service-calls/service-call.ts'

const LIST = '/operator/payouts'
const PayoutParams = z.object({ payoutId: z.string().max(64) })

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

  app.get('/payouts/:payoutId', { schema: { params: PayoutParams } }, async (request, reply) => {
    const shown = await readPayout(request, request.params)
    return sendPage(request, reply, payoutPage(shown, viewerOf(request)))
  })

  addChangeRoutes(app, '/payouts/:payoutId/:change', {
    params: PayoutParams,
    changeable: payoutChanges,
    read: readPayout,
  })
}

async function readPayout(
  request: FastifyRequest,
  { payoutId }: z.infer<typeof PayoutParams>,
): Promise<WithDecimals<Payout>> {
  const asked = { path: `${LIST}/${requirePaymentsId(payoutId)}`, schema: PayoutView }
  const { payout, decimals } = (await readWithDecimals(visitOf(request).calls, asked)).value
  return { ...payout, decimals }
}
