import { z } from 'zod'
import { operatorAnswers } from '../../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { pathUuid } from '../../../requests/fields.ts'
import { replayDelivery } from '../../../use-cases/replay-delivery.ts'
import { DeliveryView } from '../../../webhooks/delivery-view.ts'

export const operatorReplayRoutes: Routes = async (app) => {
  app.post(
    '/operator/deliveries/:deliveryId/replay',
    {
      config: { action: 'deliveries.replay' },
      schema: {
        operationId: 'replayDelivery',
        tags: ['Operators'],
        summary: 'Send the event of a delivery to its webhook again',
        params: z.object({ deliveryId: pathUuid() }),
        response: { 201: z.object({ delivery: DeliveryView }), ...operatorAnswers(400, 403, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { deliveryId: id } = request.params
      const input = { change: readOperatorChange(request), id }
      return sendOperatorAnswer(reply, await replayDelivery(app.deps, input))
    },
  )
}
