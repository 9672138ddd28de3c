import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { productPage, productsPage } from '../products/product-pages.ts'
import {
  AuditView,
  LevelsView,
  PRODUCT_INCLUDE,
  PRODUCTS_SHOWN,
  ProductsView,
  ProductView,
} from '../products/product-view.ts'
import { INVENTORY, type OperatorCalls, RecordId } from '../service-calls/operator-calls.ts'

const SEARCH_LENGTH = 200
const ProductsQuery = ListQuery.extend({ search: z.string().trim().max(SEARCH_LENGTH).optional() })
const HISTORY_ROWS = 10

export const productsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/products', { schema: { querystring: ProductsQuery } }, async (request, reply) => {
    const { query } = request
    const { calls, role } = visitOf(request)
    const { search: q, order, ...page } = pageQuery(query)
    const asked = { ...PRODUCTS_SHOWN, ...page, q, sort: order === 'asc' ? 'id' : '-id' }
    const listed = await calls.read('inventory', '/products', ProductsView, asked)
    return sendPage(request, reply, productsPage(query, listed, role))
  })

  app.get('/products/:productId', { schema: { params: z.object({ productId: RecordId }) } }, async (request, reply) => {
    const shown = await readProduct(visitOf(request).calls, request.params.productId)
    return sendPage(request, reply, productPage(shown, viewerOf(request)))
  })
}

async function readProduct(calls: OperatorCalls, id: number): Promise<Parameters<typeof productPage>[0]> {
  const [product, levels, history] = await Promise.all([
    calls.read('inventory', `/products/${id}`, ProductView, { include: PRODUCT_INCLUDE }),
    calls.read('inventory', INVENTORY.stock, LevelsView, { productId: id, include: 'names' }),
    calls.read('inventory', '/operator/audit', AuditView, { product: id, limit: HISTORY_ROWS }),
  ])
  return { product: product.value, levels: levels.value, history: history.value }
}
