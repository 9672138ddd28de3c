import { z } from 'zod'
import { refuseMissing } from '../../../access/require-access.ts'
import { operatorAnswers } from '../../../error-body.ts'
import { findMerchantForOperator } from '../../../merchants/operator-merchant-repository.ts'
import { operatorListQuery, readOperatorPage, showOperatorPage } from '../../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../../plugins/read-request.ts'
import { pathId } from '../../../requests/fields.ts'
import { EVENT_TYPES } from '../../../webhooks/event.ts'
import { EventView, viewEvent } from '../../../webhooks/event-view.ts'
import { listEventsForOperator } from '../../../webhooks/operator-event-repository.ts'

const EventsQuery = operatorListQuery('events').extend({
  type: z.enum(EVENT_TYPES).optional().describe('Only events of this type'),
})

export const operatorEventsRoutes: Routes = async (app) => {
  app.get(
    '/operator/merchants/:merchantId/events',
    {
      config: { action: 'merchants.read' },
      schema: {
        operationId: 'listEventsAsOperator',
        tags: ['Operators'],
        summary: 'List the events of any merchant of the last 30 days',
        params: z.object({ merchantId: pathId() }),
        querystring: EventsQuery,
        response: { 200: z.object({ events: z.array(EventView) }), ...operatorAnswers(400) },
      },
    },
    async ({ params: { merchantId: id }, query }, reply) => {
      const { type, ...place } = requireValues(query)
      const { merchant } = (await findMerchantForOperator(app.deps.operatorPools, id)) ?? refuseMissing()
      const input = { ...readOperatorPage('events', place), merchantId: merchant.id, type }
      const { rows, isCut } = await listEventsForOperator(app.deps.operatorPools, input)
      const cutAt = isCut ? rows.at(-1)?.id : undefined
      return { events: showOperatorPage(reply, 'events', { limit: place.limit, rows, cutAt }).map(viewEvent) }
    },
  )
}
