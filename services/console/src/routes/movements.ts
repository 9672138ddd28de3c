import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { askedAgain } from '../plugins/asked-changes.ts'
import { FormBody } from '../plugins/browser-session.ts'
import { answerDone, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { PRODUCT_INCLUDE, ProductView, productPath } from '../products/product-view.ts'
import { OptionalId, RecordId } from '../service-calls/operator-calls.ts'
import { type MovePlace, movementOf, movePage } from '../stock/stock-forms.ts'
import { movementsPage } from '../stock/stock-lists.ts'
import {
  LocationView,
  MOVEMENT_TYPES,
  MOVEMENTS,
  MovementsView,
  readLevel,
  readLocations,
} from '../stock/stock-view.ts'

const MovementsQuery = ListQuery.extend({
  location: OptionalId,
  product: OptionalId,
  type: z.string().max(20).optional(),
})
const MoveBody = FormBody.extend({
  type: z.enum(MOVEMENT_TYPES),
  product: RecordId,
  location: RecordId,
  to: OptionalId,
  quantity: z.string().trim().max(20),
  expectedOnHand: z.coerce.number().pipe(z.int()),
  reason: z.string().trim().max(1_000).prefault(''),
  reference: z.string().trim().max(1_000).prefault(''),
})
type MoveBody = z.output<typeof MoveBody>

export const movementsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/movements', { schema: { querystring: MovementsQuery } }, async (request, reply) => {
    const { calls, role } = visitOf(request)
    const { query } = request
    const { search: reference, cursor, limit } = pageQuery(query)
    const { product: productId, location: locationId, type } = query
    const asked = { reference, productId, locationId, type, include: 'names', cursor, limit }
    const [locations, listed] = await Promise.all([
      readLocations(calls),
      calls.read('inventory', '/movements', MovementsView, asked),
    ])
    return sendPage(request, reply, movementsPage(query, listed, { role, locations }))
  })

  app.post('/movements', { schema: { body: MoveBody } }, async (request, reply) =>
    moveStock({ request, reply }, request.body),
  )
}

async function moveStock(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  body: MoveBody,
): Promise<FastifyReply> {
  const { calls, role } = visitOf(request)
  // Read the place first, so that the form can be shown again if inventory becomes unavailable.
  const place = await readPlace(request, body)
  const outcome = await calls.change({
    service: 'inventory',
    method: 'POST',
    path: '/movements',
    body: movementOf(body),
    key: body._key,
  })
  if (outcome.kind === 'done') {
    const toast = `${MOVEMENTS[body.type]} of ${place.product.sku} is recorded`
    return answerDone(request, reply, { path: productPath(place.product.id), toast })
  }
  const { status, ...asked } = askedAgain(request, outcome)
  const { quantity, reason, reference, to } = body
  // A retry with the same key must be the same request. A rejected count starts from the current quantity.
  const expectedOnHand = outcome.kind === 'unknown' ? body.expectedOnHand : undefined
  const sent = { quantity, reason, reference, to: to?.toString(), expectedOnHand }
  return sendPage(request, reply, movePage(place, { ...asked, role, sent }), status)
}

async function readPlace(
  request: FastifyRequest,
  { type, product: id, location: locationId }: MoveBody,
): Promise<MovePlace> {
  const { calls } = visitOf(request)
  const [product, location, locations, level] = await Promise.all([
    calls.read('inventory', `/products/${id}`, ProductView, { include: PRODUCT_INCLUDE }),
    calls.read('inventory', `/locations/${locationId}`, LocationView),
    readLocations(calls),
    readLevel(calls, id, locationId),
  ])
  return { type, product: product.value, location: location.value, level, locations }
}
