import type { InventoryDeps } from '../deps.ts'
import type { Answered } from '../idempotency/answer.ts'
import type { Caller } from '../idempotency/caller.ts'
import type { NewReservation } from '../reservations/reservation.ts'
import { callReserve } from '../reservations/reservation-repository.ts'
import type { Reservation } from '../reservations/reservation-view.ts'
import { retryAfterExpiry } from '../reservations/retry-after-expiry.ts'
import { refuseStock } from '../stock/stock-refusals.ts'

/** A reservation to make, and who asks for it. */
export interface ReserveStockInput {
  readonly caller: Caller
  readonly reservation: NewReservation
}

/**
 * Reserves available stock. No unit is reserved twice (reference: Reserve stock).
 * @throws productNotFound or locationNotFound when there is none, insufficientStock when less is available,
 * keyMismatch when the Idempotency-Key was used for another request, keyRunning while its first request runs.
 * `refuseStock` throws no other error here, because a reservation changes nothing on hand
 */
export async function reserveStock(
  { lanes, stockMetrics }: Pick<InventoryDeps, 'lanes' | 'stockMetrics'>,
  { caller, reservation }: ReserveStockInput,
): Promise<Answered<Reservation>> {
  const answer = await retryAfterExpiry({ lanes, stockMetrics }, () => callReserve(lanes, caller, reservation))
  if (answer.body === null) refuseStock(answer)
  if (answer.verdict === 'done') stockMetrics.countReservation(answer.body.status)
  return answer
}
