import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { MerchantsView, MerchantView, merchantChanges, type ShownMerchant } from '../merchants/merchant-changes.ts'
import { merchantPage, merchantsPage } from '../merchants/merchant-pages.ts'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { readWithDecimals } from '../pages/money.ts'
import { addChangeRoutes } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'

const MerchantsQuery = ListQuery.extend({ test: z.enum(['', 'true', 'false']).optional() })
const MerchantParams = z.object({ merchantId: z.string().max(64) })

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

  app.get('/merchants/:merchantId', { schema: { params: MerchantParams } }, async (request, reply) => {
    const shown = await readMerchant(request, request.params)
    return sendPage(request, reply, merchantPage(shown, viewerOf(request)))
  })

  addChangeRoutes(app, '/merchants/:merchantId/:change', {
    params: MerchantParams,
    changeable: merchantChanges,
    read: readMerchant,
  })
}

async function readMerchant(
  request: FastifyRequest,
  { merchantId }: z.infer<typeof MerchantParams>,
): Promise<ShownMerchant> {
  const path = `/operator/merchants/${encodeURIComponent(merchantId)}`
  return (await readWithDecimals(visitOf(request).calls, { path, schema: MerchantView })).value
}
