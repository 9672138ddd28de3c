import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { reservationsPage } from '../stock/stock-lists.ts'
import { ReservationsView } from '../stock/stock-view.ts'

const ReservationsQuery = ListQuery.extend({ status: z.string().max(20).optional() })

export const reservationsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/reservations', { schema: { querystring: ReservationsQuery } }, async (request, reply) => {
    const { calls } = visitOf(request)
    const { search: reference, cursor, limit } = pageQuery(request.query)
    const asked = { reference, status: request.query.status, include: 'names', cursor, limit }
    const listed = await calls.read('inventory', '/reservations', ReservationsView, asked)
    return sendPage(request, reply, reservationsPage(request.query, listed, viewerOf(request)))
  })
}
