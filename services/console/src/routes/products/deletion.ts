import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { addChangeRoutes } from '../../plugins/asked-changes.ts'
import { visitOf } from '../../plugins/operator.ts'
import { productChanges } from '../../products/product-pages.ts'
import { PRODUCT_INCLUDE, type Product, ProductView } from '../../products/product-view.ts'
import { RecordId } from '../../service-calls/operator-calls.ts'

const Params = z.object({ productId: RecordId })

/** Deletes a product after confirmation, unless it has changed since. */
export const productDeletionRoutes: FastifyPluginAsyncZod = async (app) => {
  addChangeRoutes(app, '/products/:productId/deletion', {
    params: Params,
    changeable: productChanges,
    read: readProduct,
  })
}

async function readProduct(request: FastifyRequest, { productId }: z.infer<typeof Params>): Promise<Product> {
  const { calls } = visitOf(request)
  return (await calls.read('inventory', `/products/${productId}`, ProductView, { include: PRODUCT_INCLUDE })).value
}
