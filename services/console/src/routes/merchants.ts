import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { merchantsPage } from '../merchants/merchant-list.ts'
import { merchantPage } from '../merchants/merchant-pages.ts'
import { MerchantsView, MerchantView } from '../merchants/merchant-view.ts'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { readWithDecimals } from '../pages/money.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'

const MerchantsQuery = ListQuery.extend({ test: z.enum(['', 'true', 'false']).optional() })

/** The list of merchants, and a merchant with its balance, apps, users and webhooks. */
export const merchantsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/merchants', { schema: { querystring: MerchantsQuery } }, async (request, reply) => {
    const { query } = request
    const asked = {
      path: '/operator/merchants',
      schema: MerchantsView,
      query: { ...pageQuery(query), test: query.test },
    }
    const listed = await readWithDecimals(visitOf(request).calls, asked)
    return sendPage(request, reply, merchantsPage(query, listed))
  })

  app.get(
    '/merchants/:merchantId',
    { schema: { params: z.object({ merchantId: z.string() }) } },
    async (request, reply) => {
      const path = `/operator/merchants/${encodeURIComponent(request.params.merchantId)}`
      const { value } = await readWithDecimals(visitOf(request).calls, { path, schema: MerchantView })
      return sendPage(request, reply, merchantPage(value, viewerOf(request)))
    },
  )
}
