import { z } from 'zod'
import { operatorAnswers } from '../../error-body.ts'
import { ROWS_OF_LONG_READ } from '../../plugins/concurrency-limits.ts'
import { operatorListQuery, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { id, pathUuid } from '../../requests/fields.ts'
import { showDelivery } from '../../use-cases/show-delivery.ts'
import { DELIVERY_STATUSES, DeliveryAttempt } from '../../webhooks/delivery-attempt.ts'
import { listDeliveries } from '../../webhooks/delivery-repository.ts'
import { DeliveryView, viewDelivery } from '../../webhooks/delivery-view.ts'
import { EventView, viewEvent } from '../../webhooks/event-view.ts'
import { viewWebhook, WebhookView } from '../../webhooks/webhook-view.ts'

const DeliveriesQuery = operatorListQuery('deliveries').extend({
  merchant: id().optional().describe('Only deliveries of this merchant'),
  webhook: id().optional().describe('Only deliveries to this webhook'),
  status: z.enum(DELIVERY_STATUSES).optional().describe('Only deliveries in this state'),
})

const ShownDeliveryView = z.object({
  delivery: DeliveryView,
  webhook: WebhookView.optional().describe('Absent when the webhook is deleted'),
  event: EventView.optional().describe('What is sent. Absent when the event is too old to be kept'),
  attempts: z.array(DeliveryAttempt).describe('The oldest first'),
})

export const operatorDeliveriesRoutes: Routes = async (app) => {
  app.get(
    '/operator/deliveries',
    {
      config: { action: 'deliveries.read' },
      schema: {
        operationId: 'listDeliveries',
        tags: ['Operators'],
        summary: 'List the deliveries of all merchants',
        querystring: DeliveriesQuery,
        response: { 200: z.object({ deliveries: z.array(DeliveryView) }), ...operatorAnswers(400) },
      },
    },
    async ({ query }, reply) => {
      const { merchant: merchantId, webhook: webhookId, status, ...at } = requireValues(query)
      const filter = { ...readOperatorPage('deliveries', at), merchantId, webhookId, status }
      const found = await listDeliveries(app.deps.operatorDb, app.deps.names.jobSchema, filter)
      const rows = found.map((delivery) => ({ id: delivery.place, delivery }))
      const shown = showOperatorPage(reply, 'deliveries', { limit: at.limit, rows })
      return { deliveries: shown.map(({ delivery }) => viewDelivery(delivery)) }
    },
  )

  app.get(
    '/operator/deliveries/:deliveryId',
    {
      config: { action: 'deliveries.read', rowsCounted: ROWS_OF_LONG_READ },
      schema: {
        operationId: 'getDelivery',
        tags: ['Operators'],
        summary: 'Get a delivery with its event and its attempts',
        params: z.object({ deliveryId: pathUuid() }),
        response: { 200: ShownDeliveryView, ...operatorAnswers() },
      },
    },
    async ({ params }) => {
      const { delivery, webhook, event, attempts } = await showDelivery(app.deps, params.deliveryId)
      return {
        delivery: viewDelivery(delivery),
        webhook: webhook && viewWebhook(webhook),
        event: event && viewEvent(event),
        attempts: [...attempts],
      }
    },
  )
}
