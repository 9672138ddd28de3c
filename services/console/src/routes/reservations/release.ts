import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { answerChange, askChange } from '../../plugins/asked-changes.ts'
import { FormBody } from '../../plugins/browser-session.ts'
import { visitOf } from '../../plugins/operator.ts'
import { RecordId } from '../../service-calls/inventory-answer.ts'
import { reservationChanges } from '../../stock/stock-changes.ts'
import { type Reservation, ReservationView } from '../../stock/stock-view.ts'

const Params = z.object({ reservationId: RecordId })

/** Asks before a reservation is released, and releases it. */
export const releaseRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/reservations/:reservationId/release', { schema: { params: Params } }, async (request, reply) => {
    const shown = await readReservation(request, request.params.reservationId)
    return askChange(request, reply, reservationChanges, { name: 'release', shown })
  })

  app.post(
    '/reservations/:reservationId/release',
    { schema: { params: Params, body: FormBody } },
    async (request, reply) => {
      const shown = await readReservation(request, request.params.reservationId)
      return answerChange(request, reply, reservationChanges, { name: 'release', shown })
    },
  )
}

async function readReservation(request: FastifyRequest, id: number): Promise<Reservation> {
  return (await visitOf(request).calls.read('inventory', `/reservations/${id}`, ReservationView)).value
}
