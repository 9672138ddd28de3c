import { z } from 'zod'
import { QuantityView } from '../stock/level-view.ts'
import { RESERVATION_STATUSES } from './reservation.ts'

/** A reservation in an answer, as the SQL function `reservation_json` makes it. */
export const ReservationView = z
  .object({
    id: z.int().min(1),
    productId: z.int().min(1),
    locationId: z.int().min(1),
    quantity: QuantityView,
    remaining: QuantityView.meta({ description: 'The part that is reserved at this moment' }),
    status: z.enum(RESERVATION_STATUSES),
    reference: z.string().max(255).nullable(),
    expiresAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Reservation' })

/** A reservation, as answers show it. */
export type Reservation = z.infer<typeof ReservationView>
