import type { InventoryDeps } from '../deps.ts'
import type { OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { requireReservation } from '../reservations/reservation.ts'
import { findReservation } from '../reservations/reservation-repository.ts'
import { releaseReservation } from './release-reservation.ts'

/** A reservation that an operator releases. */
export interface ReleaseReservationAsOperatorInput {
  readonly change: OperatorChange
  readonly id: number
}

/**
 * Releases what remains of a reservation as `releaseReservation` does, in one transaction with its entry in
 * the audit log. Resolves to false, and adds no entry, if the reservation was released before.
 * @throws reservationNotFound, reservationCommitted, reservationExpired, each as `releaseReservation` says
 */
export function releaseReservationAsOperator(
  { db, stockMetrics }: Pick<InventoryDeps, 'db' | 'stockMetrics'>,
  { change, id }: ReleaseReservationAsOperatorInput,
): Promise<boolean> {
  return runOperatorChange(db, change, async (own) => {
    const actor = change.operator.actor.id
    const made = await releaseReservation({ ...own, stockMetrics }, { actor, id })
    if (!made) return { made, audited: undefined }
    const { productId } = requireReservation(await findReservation(own.lanes, id))
    const object = { kind: 'reservation', id } as const
    return { made, audited: { action: 'reservations.release', object, productIds: [productId], changes: {} } }
  })
}
