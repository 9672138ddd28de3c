import { type Args, accepts, p, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { callerOf } from '../../access/actor.ts'
import { guardsFor } from '../../plugins/authorize.ts'
import { InventoryController } from '../../plugins/inventory-controller.ts'
import { idempotent, recordBody, recordEnvelope } from '../../requests/answers.ts'
import { ReservationId } from '../../requests/fields.ts'
import { ReservationView } from '../../reservations/reservation.ts'
import { QUANTITY_MAX } from '../../stock/level.ts'
import { commitReservation } from '../../use-cases/reserve-stock.ts'

const Quantity = p.int({ min: 1, max: QUANTITY_MAX })

/** Ships reserved stock. */
export class Default extends InventoryController {
  static override use = guardsFor({})

  static POST = accepts({
    path: [ReservationId],
    names: ['reservationId'],
    keywords: z.object({
      quantity: Quantity.optional().meta({ description: 'How much to ship. Without it, all that remains' }),
    }),
    returns: recordEnvelope(ReservationView, 200),
    responses: { 409: 'The reservation is over, or less remains', ...idempotent },
    summary: 'Commit a reservation',
    tags: ['reservations'],
  })
  async POST(...[id, { quantity }]: Args<typeof Default.POST>): Promise<RawJson> {
    const caller = callerOf(this.request, `/reservations/commit/${id}`, { quantity })
    const { verdict, body } = await this.writeWithSlot(() =>
      commitReservation(this.application.context, { caller, id, quantity }),
    )
    this.logOrMarkReplayed(verdict, { event: 'reservation.committed', reservation_id: id })
    return recordBody(200, JSON.stringify(body))
  }
}
