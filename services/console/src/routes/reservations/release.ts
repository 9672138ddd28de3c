import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { addChangeRoutes } from '../../plugins/asked-changes.ts'
import { visitOf } from '../../plugins/operator.ts'
import { RecordId } from '../../service-calls/operator-calls.ts'
import { reservationChanges } from '../../stock/stock-forms.ts'
import { type Reservation, ReservationView } from '../../stock/stock-view.ts'

const Params = z.object({ reservationId: RecordId })

export const releaseRoutes: FastifyPluginAsyncZod = async (app) => {
  addChangeRoutes(app, '/reservations/:reservationId/release', {
    params: Params,
    changeable: reservationChanges,
    read: readReservation,
  })
}

async function readReservation(
  request: FastifyRequest,
  { reservationId }: z.infer<typeof Params>,
): Promise<Reservation> {
  return (await visitOf(request).calls.read('inventory', `/reservations/${reservationId}`, ReservationView)).value
}
