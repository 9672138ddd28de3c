export const RESERVATION_STATUSES = ['active', 'committed', 'released', 'expired'] as const

/** `active` until all of the reservation is committed, released or expired (reference: Reservation states). */
export type ReservationStatus = (typeof RESERVATION_STATUSES)[number]

/** What a client wants to be kept for it. */
export interface NewReservation {
  readonly productId: number
  readonly locationId: number
  readonly quantity: number
  readonly expiresInSeconds?: number | undefined
  readonly reference?: string | undefined
}
