import type { InventoryDeps } from '../deps.ts'
import { refuseEnded, requireReservation } from '../reservations/reservation.ts'
import { callReleaseReservation } from '../reservations/reservation-repository.ts'

/** A reservation to release, and whose request it is. */
export interface ReleaseReservationInput {
  readonly actor: string | null
  readonly id: number
}

/**
 * Releases what remains of a reservation (reference: Reservation states). Resolves to false, and does nothing, if the reservation
 * was released before.
 * @throws reservationNotFound when there is none with the id, reservationCommitted or reservationExpired when it is over
 */
export async function releaseReservation(
  { lanes, stockMetrics }: Pick<InventoryDeps, 'lanes' | 'stockMetrics'>,
  { actor, id }: ReleaseReservationInput,
): Promise<boolean> {
  const before = requireReservation(await callReleaseReservation(lanes, actor, id))
  if (before === 'committed' || before === 'expired') refuseEnded(before)
  if (before === 'active') stockMetrics.countReservation('released')
  return before === 'active'
}
