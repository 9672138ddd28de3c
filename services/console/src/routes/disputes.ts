import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { pageQuery } from '../pages/list.ts'
import { readWithDecimals } from '../pages/money.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendCsv, sendPage } from '../plugins/pages.ts'
import { DisputesQuery, disputesPage } from '../transactions/dispute-list.ts'
import { DisputesView } from '../transactions/dispute-view.ts'

const LIST = '/operator/disputes'

/** The list of disputes, as a page or as CSV. */
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
}
