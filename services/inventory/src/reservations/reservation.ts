import { z } from 'zod'
import { reservationCommitted, reservationExpired, reservationNotFound } from '../errors.ts'
import { PLACE_NAMES, QuantityView } from '../stock/level.ts'

/** Statuses of a reservation. The README of this folder has the diagram of its states. */
export const RESERVATION_STATUSES = ['active', 'committed', 'released', 'expired'] as const

/** `active` until nothing of the reservation remains (reference: Reservation states). */
export type ReservationStatus = (typeof RESERVATION_STATUSES)[number]

/** The stock that a client asks to reserve. */
export interface NewReservation {
  readonly productId: number
  readonly locationId: number
  readonly quantity: number
  readonly expiresInSeconds?: number | undefined
  readonly reference?: string | undefined
}

/**
 * Requires that a query has found a reservation, or that the verdict of a SQL function does not say that there is none.
 * @returns `found` as it is
 * @throws reservationNotFound
 */
export function requireReservation<Found>(found: Found | 'not-found' | undefined): Found {
  if (found === undefined || found === 'not-found') throw reservationNotFound()
  return found
}

/**
 * Refuses to commit or release a reservation that ended otherwise.
 * @throws reservationCommitted or reservationExpired, as its status says
 */
export function refuseEnded(status: 'committed' | 'expired'): never {
  throw status === 'committed' ? reservationCommitted() : reservationExpired()
}

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
