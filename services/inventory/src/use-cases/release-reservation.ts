import type { InventoryDeps } from '../deps.ts'
import { reservationNotFound, reservationOver } from '../errors.ts'
import { callReleaseReservation } from '../reservations/reservation-repository.ts'

/**
 * Gives back what remains of a reservation (reference: Reservation states). Resolves to false if the reservation was
 * released before: then nothing was done.
 */
export async function releaseReservation(
  { lanes, stockMetrics }: Pick<InventoryDeps, 'lanes' | 'stockMetrics'>,
  actor: string | null,
  id: number,
): Promise<boolean> {
  const before = await callReleaseReservation(lanes, actor, id)
  if (before === 'not-found') throw reservationNotFound()
  if (before === 'committed') throw reservationOver({ message: 'The reservation is committed.' })
  if (before === 'expired') throw reservationOver({ message: 'The reservation has expired.' })
  if (before === 'active') stockMetrics.countReservation('released')
  return before === 'active'
}
