import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { FormBody } from '../../plugins/browser-session.ts'
import { answerDone, requireAction, visitOf } from '../../plugins/operator.ts'
import { sendPage } from '../../plugins/pages.ts'
import { deleteProductPage } from '../../products/product-form.ts'
import { PRODUCT_INCLUDE, type Product, ProductView } from '../../products/product-view.ts'
import { productTag, RecordId } from '../../service-calls/inventory-answer.ts'
import type { OperatorCalls } from '../../service-calls/operator-calls.ts'

const Params = z.object({ productId: RecordId })
const DeletionBody = FormBody.extend({ version: RecordId })

/** Asks before a product is deleted, and deletes it unless it was changed meanwhile. */
export const productDeletionRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/products/:productId/deletion', { schema: { params: Params } }, async (request, reply) => {
    const { calls, form: proof } = requireAction(request, 'products.delete')
    return sendPage(request, reply, deleteProductPage(await readProduct(calls, request.params.productId), { proof }))
  })

  app.post(
    '/products/:productId/deletion',
    { schema: { params: Params, body: DeletionBody } },
    async (request, reply) => {
      const { calls, form: proof } = visitOf(request)
      const { productId: id } = request.params
      const product = await readProduct(calls, id)
      const outcome = await calls.change({
        service: 'inventory',
        method: 'DELETE',
        path: `/products/${id}`,
        key: request.body._key,
        ifMatch: productTag(id, request.body.version),
      })
      if (outcome.kind === 'done') {
        return answerDone(request, reply, { path: '/products', toast: `${product.sku} is deleted` })
      }
      return sendPage(request, reply, deleteProductPage(product, { proof, problem: outcome.message }), 422)
    },
  )
}

async function readProduct(calls: OperatorCalls, id: number): Promise<Product> {
  return (await calls.read('inventory', `/products/${id}`, ProductView, { include: PRODUCT_INCLUDE })).value
}
