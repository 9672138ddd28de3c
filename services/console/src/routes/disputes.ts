import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { pageQuery } from '../pages/list.ts'
import { readWithDecimals } from '../pages/money.ts'
import { addChangeRoutes } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendCsv, sendPage } from '../plugins/pages.ts'
import {
  DisputesQuery,
  disputeChanges,
  disputePage,
  disputesPage,
  type ShownDispute,
} from '../transactions/dispute-page.ts'
import { DisputesView, DisputeView } from '../transactions/dispute-view.ts'
import { TransactionView } from '../transactions/transaction-view.ts'

const LIST = '/operator/disputes'
const DisputeParams = z.object({ disputeId: z.string().max(64) })

export const disputesRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/disputes', { schema: { querystring: DisputesQuery } }, async (request, reply) => {
    const { merchant, status, format, ...place } = request.query
    const { calls } = visitOf(request)
    const asked = { ...pageQuery(place), merchant, status }
    if (format === 'csv') {
      return sendCsv(reply, 'disputes', await calls.openCsv('payments', LIST, { ...asked, limit: undefined }))
    }
    const listed = await readWithDecimals(calls, { path: LIST, schema: DisputesView, query: asked })
    return sendPage(request, reply, disputesPage(request.query, listed, viewerOf(request)))
  })

  app.get('/disputes/:disputeId', { schema: { params: DisputeParams } }, async (request, reply) => {
    const shown = await readDispute(request, request.params)
    return sendPage(request, reply, disputePage(shown, viewerOf(request)))
  })

  addChangeRoutes(app, '/disputes/:disputeId/:change', {
    params: DisputeParams,
    changeable: disputeChanges,
    read: readDispute,
  })
}

async function readDispute(
  request: FastifyRequest,
  { disputeId }: z.infer<typeof DisputeParams>,
): Promise<ShownDispute> {
  const { calls } = visitOf(request)
  const { dispute } = (await calls.read('payments', `${LIST}/${encodeURIComponent(disputeId)}`, DisputeView)).value
  const path = `/operator/transactions/${encodeURIComponent(dispute.transactionId)}`
  const { value } = await readWithDecimals(calls, { path, schema: TransactionView })
  return { ...value, dispute }
}
