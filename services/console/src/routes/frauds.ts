import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { pageQuery } from '../pages/list.ts'
import { visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { FraudsQuery, fraudsPage } from '../transactions/dispute-page.ts'
import { FraudsView, readReasons } from '../transactions/dispute-view.ts'

export const fraudsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/frauds', { schema: { querystring: FraudsQuery } }, async (request, reply) => {
    const { merchant, ...place } = request.query
    const asked = { ...pageQuery(place), merchant }
    const { calls } = visitOf(request)
    const list = calls.read('payments', '/operator/frauds', FraudsView, asked)
    const [listed, reasons] = await Promise.all([list, readReasons(calls)])
    return sendPage(request, reply, fraudsPage(request.query, listed, reasons))
  })
}
