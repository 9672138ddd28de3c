import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  DeliveriesQuery,
  DeliveriesView,
  deliveriesPage,
  deliveryChanges,
  deliveryPage,
  ShownDelivery,
} from '../deliveries/delivery-pages.ts'
import { pageQuery } from '../pages/list.ts'
import { addChangeRoutes } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'

const LIST = '/operator/deliveries'
const DeliveryParams = z.object({ deliveryId: z.string().max(64) })

export const deliveriesRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/deliveries', { schema: { querystring: DeliveriesQuery } }, async (request, reply) => {
    const { merchant, webhook, status, ...place } = request.query
    const asked = { ...pageQuery(place), merchant, webhook, status }
    const listed = await visitOf(request).calls.read('payments', LIST, DeliveriesView, asked)
    return sendPage(request, reply, deliveriesPage(request.query, listed))
  })

  app.get('/deliveries/:deliveryId', { schema: { params: DeliveryParams } }, async (request, reply) => {
    const shown = await readDelivery(request, request.params)
    return sendPage(request, reply, deliveryPage(shown, viewerOf(request)))
  })

  addChangeRoutes(app, '/deliveries/:deliveryId/:change', {
    params: DeliveryParams,
    changeable: deliveryChanges,
    read: readDelivery,
  })
}

async function readDelivery(
  request: FastifyRequest,
  { deliveryId }: z.infer<typeof DeliveryParams>,
): Promise<ShownDelivery> {
  const path = `${LIST}/${encodeURIComponent(deliveryId)}`
  return (await visitOf(request).calls.read('payments', path, ShownDelivery)).value
}
