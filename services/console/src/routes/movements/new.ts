import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { FORM_TEXTS } from '../../errors.ts'
import { isLedToForm, leadAround, requireAction } from '../../plugins/operator.ts'
import { sendPage } from '../../plugins/pages.ts'
import { PRODUCT_INCLUDE, ProductView } from '../../products/product-view.ts'
import { INVENTORY, type OperatorCalls, OptionalId } from '../../service-calls/operator-calls.ts'
import { choosePlacePage, movePage } from '../../stock/stock-forms.ts'
import { findProduct, LocationView, MOVEMENT_TYPES, readLevel, readLocations } from '../../stock/stock-view.ts'

const MoveQuery = z.object({
  type: z.enum(MOVEMENT_TYPES).prefault('receive'),
  product: OptionalId,
  location: OptionalId,
  sku: z.string().trim().max(255).prefault(''),
})
type MoveQuery = z.output<typeof MoveQuery>

/** The form first needs the product and the location, and then shows their stock. */
export const newMovementRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/movements/new', { schema: { querystring: MoveQuery } }, (request, reply) =>
    showForm({ request, reply }, request.query),
  )
}

async function showForm(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  query: MoveQuery,
): Promise<FastifyReply> {
  const { calls, role, form: proof } = requireAction(request, `stock.${query.type}`)
  if (isLedToForm(request)) return leadAround(request, reply, INVENTORY.stock)
  const [product, location, first] = await Promise.all([
    productOf(calls, query),
    locationOf(calls, query),
    readLocations(calls),
  ])
  // The list is limited, so it may not contain the location in the URL.
  const isListed = location === undefined || first.some(({ id }) => id === location.id)
  const locations = isListed ? first : [...first, location]
  if (product !== undefined && location !== undefined) {
    const level = await readLevel(calls, product.id, location.id)
    return sendPage(
      request,
      reply,
      movePage({ type: query.type, product, location, level, locations }, { role, proof }),
    )
  }
  const isUnknown = product === undefined && query.sku !== ''
  const problem = isUnknown ? { message: FORM_TEXTS.noProduct(query.sku), field: 'sku' } : undefined
  const place = { type: query.type, sku: product?.sku ?? query.sku, locations, location: query.location?.toString() }
  return sendPage(request, reply, choosePlacePage(place, { role, problem }))
}

async function locationOf(calls: OperatorCalls, { location }: MoveQuery) {
  if (location === undefined) return undefined
  return (await calls.read('inventory', `/locations/${location}`, LocationView)).value
}

async function productOf(calls: OperatorCalls, { product, sku }: MoveQuery) {
  if (product === undefined) return sku === '' ? undefined : findProduct(calls, sku)
  return (await calls.read('inventory', `/products/${product}`, ProductView, { include: PRODUCT_INCLUDE })).value
}
