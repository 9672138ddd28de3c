import { z } from 'zod'
import { PLACE_NAMES, QuantityView } from '../stock/level-view.ts'
import { RESERVATION_STATUSES } from './reservation.ts'

/** A reservation in an answer, as the SQL function `reservation_json` makes it. */
export const ReservationView = z
  .object({
    id: z.int().min(1).meta({ description: 'The id of the reservation' }),
    productId: z.int().min(1).meta({ description: 'The id of the product' }),
    locationId: z.int().min(1).meta({ description: 'The id of the location' }),
    quantity: QuantityView.min(1).meta({ description: 'What was reserved' }),
    remaining: QuantityView.meta({ description: 'The part that is reserved at this moment' }),
    status: z.enum(RESERVATION_STATUSES).meta({ description: 'active until nothing of it remains' }),
    reference: z.string().max(255).nullable().meta({ description: 'A document of the client, as it was sent' }),
    expiresAt: z.iso.datetime().nullable().meta({ description: 'When the reservation ends; null for never' }),
    createdAt: z.iso.datetime().meta({ description: 'When the stock was reserved' }),
  })
  .meta({ id: 'Reservation' })

/** A reservation in a list, with what `include` asked for. */
export const ListedReservationView = ReservationView.extend(PLACE_NAMES).meta({ id: 'ListedReservation' })

/** A reservation, as answers show it. */
export type Reservation = z.infer<typeof ReservationView>
