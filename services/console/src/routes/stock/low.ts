import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ListQuery, pageQuery } from '../../pages/list.ts'
import { visitOf } from '../../plugins/operator.ts'
import { sendPage } from '../../plugins/pages.ts'
import { LevelsView } from '../../products/product-view.ts'
import { lowStockPage } from '../../stock/stock-lists.ts'

const LowQuery = ListQuery.extend({ below: z.coerce.number().pipe(z.int().min(0)).optional() })

export const lowStockRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/stock/low', { schema: { querystring: LowQuery } }, async (request, reply) => {
    const { calls, role } = visitOf(request)
    const { cursor, limit } = pageQuery(request.query)
    const asked = { below: request.query.below, cursor, limit }
    const listed = await calls.read('inventory', '/operator/low-stock', LevelsView, asked)
    return sendPage(request, reply, lowStockPage(request.query, listed, role))
  })
}
