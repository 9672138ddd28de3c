import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { LevelsView } from '../products/product-view.ts'
import { OptionalId } from '../service-calls/operator-calls.ts'
import { levelsPage } from '../stock/stock-lists.ts'
import { readLocations } from '../stock/stock-view.ts'

const StockQuery = ListQuery.extend({ location: OptionalId })

export const stockRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/stock', { schema: { querystring: StockQuery } }, async (request, reply) => {
    const { calls, role } = visitOf(request)
    const { search: sku, cursor, limit } = pageQuery(request.query)
    const asked = { sku, locationId: request.query.location, include: 'names', cursor, limit }
    const [locations, listed] = await Promise.all([
      readLocations(calls),
      calls.read('inventory', '/stock', LevelsView, asked),
    ])
    return sendPage(request, reply, levelsPage(request.query, listed, { role, locations }))
  })
}
