import { z } from 'zod'
import { reservationCommitted, reservationExpired, reservationNotFound } from '../errors.ts'
import { PLACE_NAMES, QuantityView } from '../stock/level.ts'

/** The statuses. The README of this folder has a diagram of them. */
export const RESERVATION_STATUSES = ['active', 'committed', 'released', 'expired'] as const

/** `active` until the remaining quantity is 0 (reference: Reservation states). */
export type ReservationStatus = (typeof RESERVATION_STATUSES)[number]

/** The longest life of a reservation, in seconds: 30 days. */
export const LIFE_SECONDS_MAX = 2_592_000

export interface NewReservation {
  readonly productId: number
  readonly locationId: number
  readonly quantity: number
  readonly expiresInSeconds?: number | undefined
  readonly reference?: string | undefined
}

/** @param found a reservation, or the verdict of a SQL function @returns `found` @throws reservationNotFound */
export function requireReservation<Found>(found: Found | 'not-found' | undefined): Found {
  if (found === undefined || found === 'not-found') throw reservationNotFound()
  return found
}

/**
 * Refuses to commit or release a reservation that has already ended in another way.
 * @throws reservationCommitted or reservationExpired, depending on its status
 */
export function refuseEnded(status: 'committed' | 'expired'): never {
  throw status === 'committed' ? reservationCommitted() : reservationExpired()
}

/** The JSON of a reservation, as the SQL function `reservation_json` returns it. */
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

export const ListedReservationView = ReservationView.extend(PLACE_NAMES).meta({ id: 'ListedReservation' })

export type Reservation = z.infer<typeof ReservationView>
