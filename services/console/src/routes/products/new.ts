import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { askedAgain } from '../../plugins/asked-changes.ts'
import { ProductBody, readAttributes, sentFields, shownFields } from '../../plugins/forms.ts'
import { answerDone, isLedToForm, leadAround, requireAction, visitOf } from '../../plugins/operator.ts'
import { sendPage } from '../../plugins/pages.ts'
import { newProductPage } from '../../products/product-form.ts'
import { ProductCreatedView, productPath } from '../../products/product-view.ts'
import { INVENTORY } from '../../service-calls/operator-calls.ts'

const Query = z.object({ as: z.enum(['form', 'json']).prefault('form') })

export const newProductRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/products/new', { schema: { querystring: Query } }, async (request, reply) => {
    const { form: proof } = requireAction(request, 'products.change')
    if (isLedToForm(request)) return leadAround(request, reply, INVENTORY.products)
    return sendPage(
      request,
      reply,
      newProductPage({ proof, ...shownFields({ sku: '', attributes: {} }, request.query.as) }),
    )
  })

  app.post('/products/new', { schema: { body: ProductBody } }, async (request, reply) =>
    createProduct({ request, reply }, request.body),
  )
}

async function createProduct(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  body: z.output<typeof ProductBody>,
): Promise<FastifyReply> {
  const { calls } = visitOf(request)
  const attributes = readAttributes(body)
  const outcome =
    attributes.kind === 'refused'
      ? { kind: 'refused' as const, message: attributes.problem }
      : await calls.change({
          service: 'inventory',
          method: 'POST',
          path: INVENTORY.products,
          body: { sku: body.sku, attributes: attributes.json },
          answer: ProductCreatedView,
          key: body._key,
        })
  if (outcome.kind !== 'done') {
    const { status, ...asked } = askedAgain(request, outcome)
    return sendPage(request, reply, newProductPage({ ...asked, ...sentFields(body) }), status)
  }
  const { id } = ProductCreatedView.parse(outcome.body)
  return answerDone(request, reply, { path: productPath(id), toast: `${body.sku} is created` })
}
