import { reservationCommitted, reservationExpired, reservationNotFound } from '../errors.ts'

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
