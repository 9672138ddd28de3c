import type { InventoryDeps } from '../deps.ts'
import type { OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { releaseReservation } from './release-reservation.ts'

/**
 * Releases what remains of a reservation as `releaseReservation` does, in one transaction with its entry in
 * the audit log. Resolves to false, and adds no entry, if the reservation was released before.
 * @throws reservationNotFound, reservationCommitted, reservationExpired, each as `releaseReservation` says
 */
export function releaseReservationAsOperator(
  { db, stockMetrics }: Pick<InventoryDeps, 'db' | 'stockMetrics'>,
  change: OperatorChange,
  id: number,
): Promise<boolean> {
  return runOperatorChange(db, change, async (own) => {
    const made = await releaseReservation({ ...own, stockMetrics }, change.operator.actor.id, id)
    if (!made) return { made, audited: undefined }
    const object = { kind: 'reservation', id } as const
    return { made, audited: { action: 'reservations.release', object, productIds: [], changes: {} } }
  })
}
