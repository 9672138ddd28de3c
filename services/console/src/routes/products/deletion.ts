import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { answerChange, askChange } from '../../plugins/asked-changes.ts'
import { FormBody } from '../../plugins/browser-session.ts'
import { visitOf } from '../../plugins/operator.ts'
import { productChanges } from '../../products/product-changes.ts'
import { PRODUCT_INCLUDE, type Product, ProductView } from '../../products/product-view.ts'
import { RecordId } from '../../service-calls/inventory-answer.ts'

const Params = z.object({ productId: RecordId })

/** Asks before a product is deleted, and deletes it unless it was changed meanwhile. */
export const productDeletionRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/products/:productId/deletion', { schema: { params: Params } }, async (request, reply) => {
    const shown = await readProduct(request, request.params.productId)
    return askChange(request, reply, productChanges, { name: 'deletion', shown })
  })

  app.post(
    '/products/:productId/deletion',
    { schema: { params: Params, body: FormBody.loose() } },
    async (request, reply) => {
      const shown = await readProduct(request, request.params.productId)
      return answerChange(request, reply, productChanges, { name: 'deletion', shown })
    },
  )
}

async function readProduct(request: FastifyRequest, id: number): Promise<Product> {
  const { calls } = visitOf(request)
  return (await calls.read('inventory', `/products/${id}`, ProductView, { include: PRODUCT_INCLUDE })).value
}
