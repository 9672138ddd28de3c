import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { askedAgain } from '../../plugins/asked-changes.ts'
import { ProductBody, readAttributes, sentFields, shownFields } from '../../plugins/forms.ts'
import { answerDone, isLedToForm, leadAround, requireAction, visitOf } from '../../plugins/operator.ts'
import { sendPage } from '../../plugins/pages.ts'
import { editProductPage, fieldsOf } from '../../products/product-form.ts'
import { PRODUCT_INCLUDE, type Product, ProductView, productPath } from '../../products/product-view.ts'
import { type Outcome, productTag, RecordId } from '../../service-calls/operator-calls.ts'

const Params = z.object({ productId: RecordId })
const Query = z.object({ as: z.enum(['form', 'json']).prefault('form') })
const EditBody = ProductBody.extend({ version: RecordId })
type EditBody = z.output<typeof EditBody>

/** Does not overwrite a product that has changed since the form was opened. */
export const editProductRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/products/:productId/edit', { schema: { params: Params, querystring: Query } }, async (request, reply) => {
    const { form: proof } = requireAction(request, 'products.change')
    if (isLedToForm(request)) return leadAround(request, reply, productPath(request.params.productId))
    const product = await readProduct(request, request.params.productId)
    const form = { proof, mayUseForm: hasFields(product), ...shownFields(product, request.query.as) }
    return sendPage(request, reply, editProductPage(product, product.version, form))
  })

  app.post('/products/:productId/edit', { schema: { params: Params, body: EditBody } }, async (request, reply) =>
    editProduct({ request, reply }, request.params.productId, request.body),
  )
}

const hasFields = ({ attributes }: Product) => fieldsOf(attributes) !== undefined

async function editProduct(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  id: number,
  body: EditBody,
): Promise<FastifyReply> {
  // Read the product first, so that the form can be shown again if inventory becomes unavailable.
  const product = await readProduct(request, id)
  const outcome = await replaceProduct(request, id, body)
  if (outcome.kind === 'done') {
    return answerDone(request, reply, { path: productPath(id), toast: `${body.sku} is saved` })
  }
  const { status, ...asked } = askedAgain(request, outcome)
  const form = { ...asked, mayUseForm: hasFields(product), ...sentFields(body) }
  return sendPage(request, reply, editProductPage(product, body.version, form), status)
}

/** Replaces a product with the form values, unless the attributes cannot be read. */
async function replaceProduct(request: FastifyRequest, id: number, body: EditBody): Promise<Outcome> {
  const { calls } = visitOf(request)
  const attributes = readAttributes(body)
  if (attributes.kind === 'refused') return { kind: 'refused', message: attributes.problem }
  return calls.change({
    service: 'inventory',
    method: 'PUT',
    path: `/products/${id}`,
    body: { sku: body.sku, attributes: attributes.json },
    key: body._key,
    ifMatch: productTag(id, body.version),
  })
}

async function readProduct(request: FastifyRequest, id: number): Promise<Product> {
  const { calls } = visitOf(request)
  return (await calls.read('inventory', `/products/${id}`, ProductView, { include: PRODUCT_INCLUDE })).value
}
