import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ListQuery, pageQuery } from '../../pages/list.ts'
import { visitOf } from '../../plugins/operator.ts'
import { sendPage } from '../../plugins/pages.ts'
import { productHistoryPage } from '../../products/product-pages.ts'
import { AuditView, PRODUCT_INCLUDE, ProductView } from '../../products/product-view.ts'
import { RecordId } from '../../service-calls/operator-calls.ts'

export const productHistoryRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/products/:productId/history',
    { schema: { params: z.object({ productId: RecordId }), querystring: ListQuery } },
    async (request, reply) => {
      const { calls } = visitOf(request)
      const { productId: id } = request.params
      const { search: _search, ...page } = pageQuery(request.query)
      const [{ value: product }, listed] = await Promise.all([
        calls.read('inventory', `/products/${id}`, ProductView, { include: PRODUCT_INCLUDE }),
        calls.read('inventory', '/operator/audit', AuditView, { ...page, product: id }),
      ])
      return sendPage(request, reply, productHistoryPage(product, request.query, listed))
    },
  )
}
