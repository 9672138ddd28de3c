import type { Lanes } from '@trestle/database/lanes.ts'
import type { StockMetrics } from '../stock/stock-metrics.ts'
import { callExpireReservations } from './reservation-repository.ts'

const BATCH = 100
/** So much that the sweep has not come to is more than a request waits for. */
const BATCHES_MAX = 10

/**
 * Takes stock. If there is not enough, expires the reservations that are due and tries again: reserved stock is free from
 * `expiresAt` on, not from the next sweep on (reference: Reservation expiry).
 */
export async function withDueStock<Answer extends { readonly verdict: string }>(
  { lanes, stockMetrics }: { readonly lanes: Lanes; readonly stockMetrics: StockMetrics },
  take: () => Promise<Answer>,
): Promise<Answer> {
  const answer = await take()
  if (answer.verdict !== 'insufficient-stock') return answer
  let expired = 0
  for (let batches = 0; batches < BATCHES_MAX; batches++) {
    const count = await callExpireReservations(lanes, BATCH)
    expired += count
    if (count < BATCH) break
  }
  if (expired > 0) stockMetrics.countReservation('expired', expired)
  // Also where nothing was due any more: another request, or the sweep, may have given it back since.
  return take()
}
