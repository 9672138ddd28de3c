import type { Pools } from '@trestle/database/pools.ts'
import { aboveRemaining, reservationReleased } from '../errors.ts'
import { type Answered, type Caller, type Refused, refuseKey } from '../idempotency/idempotent-request.ts'
import type { Audited } from '../operators/operator-change.ts'
import { type ChangeDeps, runAuditedChange } from '../operators/operator-change-repository.ts'
import { type NewReservation, type Reservation, refuseEnded, requireReservation } from '../reservations/reservation.ts'
import {
  type CommitRefusal,
  callCommitReservation,
  callReleaseReservation,
  callReserve,
  findReservation,
  retryAfterExpiry,
} from '../reservations/reservation-repository.ts'
import type { StockMetrics } from '../reservations/stock-metrics.ts'
import { refuseStock } from '../stock/level.ts'

interface ReservationDeps {
  readonly pools: Pools
  readonly stockMetrics: StockMetrics
}

/**
 * Reserves available stock. No unit is reserved twice (reference: Reserve stock).
 * @throws productNotFound or locationNotFound if it does not exist, insufficientStock if less is available, keyMismatch if the
 * Idempotency-Key was used for another request, keyRunning while its first request runs. `refuseStock` throws no other error
 * here, because a reservation does not change the quantity on hand
 */
export async function reserveStock(
  { pools, stockMetrics }: ReservationDeps,
  { caller, reservation }: { readonly caller: Caller; readonly reservation: NewReservation },
): Promise<Answered<Reservation>> {
  const answer = await retryAfterExpiry({ pools, stockMetrics }, () => callReserve(pools, caller, reservation))
  if (answer.body === null) refuseStock(answer)
  if (answer.verdict === 'done') stockMetrics.countReservation(answer.body.status)
  return answer
}

/** Without a quantity, the whole remaining quantity is committed. */
interface CommitReservationInput {
  readonly caller: Caller
  readonly id: number
  readonly quantity: number | undefined
}

/**
 * Ships `quantity` of a reservation, or the whole remaining quantity. A due reservation cannot be committed (reference:
 * Reservation states).
 * @throws reservationNotFound if it does not exist, aboveRemaining if less remains than `quantity`, reservationCommitted,
 * reservationReleased or reservationExpired if it has ended, keyMismatch if the Idempotency-Key was used for another request,
 * keyRunning while its first request runs
 */
export async function commitReservation(
  { pools, stockMetrics }: ReservationDeps,
  { caller, id, quantity }: CommitReservationInput,
): Promise<Answered<Reservation>> {
  const answer = await callCommitReservation(pools, caller, { id, quantity })
  if (answer.body === null) refuseCommit(answer)
  if (answer.verdict === 'done') {
    stockMetrics.countMovement('ship')
    if (answer.body.status !== 'active') stockMetrics.countReservation(answer.body.status)
  }
  return answer
}

/** `quantity` is the remaining quantity of the reservation. */
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

/**
 * Releases the remaining quantity (reference: Reservation states). Resolves to `false` without a change if the reservation was
 * already released.
 * @throws reservationNotFound if it does not exist, reservationCommitted or reservationExpired if it has ended
 */
export function releaseReservation(
  deps: ReservationDeps & ChangeDeps,
  { actor, id, operatorChange }: Audited & { readonly actor: string | null; readonly id: number },
): Promise<boolean> {
  const release = async ({ pools, stockMetrics }: ReservationDeps) => {
    const before = requireReservation(await callReleaseReservation(pools, actor, id))
    if (before === 'committed' || before === 'expired') refuseEnded(before)
    if (before === 'active') stockMetrics.countReservation('released')
    return before === 'active'
  }
  return runAuditedChange(deps, operatorChange, release, async (released, { pools }) => {
    if (!released) return undefined
    const { productId } = requireReservation(await findReservation(pools, id))
    return { action: 'reservations.release', object: { kind: 'reservation', id }, productIds: [productId], changes: {} }
  })
}
