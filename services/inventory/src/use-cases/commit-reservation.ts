import type { InventoryDeps } from '../deps.ts'
import { aboveRemaining, reservationReleased } from '../errors.ts'
import type { Answered, Refused } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import { refuseKey } from '../idempotency/refuse-key.ts'
import { refuseEnded, requireReservation } from '../reservations/reservation.ts'
import { type CommitRefusal, callCommitReservation } from '../reservations/reservation-repository.ts'
import type { Reservation } from '../reservations/reservation-view.ts'

/** A quantity of a reservation to ship. Undefined: all that remains. */
export interface CommitReservationInput {
  readonly caller: Caller
  readonly id: number
  readonly quantity: number | undefined
}

/**
 * Ships `quantity` of a reservation, or all that remains. A due reservation is never committed (reference: Reservation
 * states).
 * @throws reservationNotFound when there is none with the id, aboveRemaining when less remains than `quantity`,
 * reservationCommitted, reservationReleased or reservationExpired when it is over, keyMismatch when the Idempotency-Key was
 * used for another request, keyRunning while its first request runs
 */
export async function commitReservation(
  { lanes, stockMetrics }: Pick<InventoryDeps, 'lanes' | 'stockMetrics'>,
  { caller, id, quantity }: CommitReservationInput,
): Promise<Answered<Reservation>> {
  const answer = await callCommitReservation(lanes, caller, { id, quantity })
  if (answer.body === null) refuseCommit(answer)
  if (answer.verdict === 'done') {
    stockMetrics.countMovement('ship')
    if (answer.body.status !== 'active') stockMetrics.countReservation(answer.body.status)
  }
  return answer
}

/** `quantity` is what remains of the reservation. */
function refuseCommit({ verdict, quantity }: Refused<CommitRefusal>): never {
  const refusal = requireReservation(verdict)
  switch (refusal) {
    case 'above-remaining':
      throw aboveRemaining({ details: { remaining: quantity } })
    case 'released':
      throw reservationReleased()
    case 'committed':
    case 'expired':
      return refuseEnded(refusal)
    default:
      refuseKey(refusal)
  }
}
