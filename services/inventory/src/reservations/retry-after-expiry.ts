import type { Lanes } from '@trestle/database/lanes.ts'
import { callExpireReservations } from './reservation-repository.ts'

interface ExpiryDeps {
  readonly lanes: Lanes
  readonly stockMetrics: { countReservation(status: 'expired', count: number): void }
}

const BATCH_ROWS = 100
/** A request waits for no more batches than this, however many reservations are due. */
const BATCHES_MAX = 10

/**
 * Takes stock. If there is too little, expires the reservations that are due and tries again, because reserved stock is free from
 * `expiresAt` on, and not only after the next clean-up (reference: Reservation expiry).
 */
export async function retryAfterExpiry<Answer extends { readonly verdict: string }>(
  { lanes, stockMetrics }: ExpiryDeps,
  takeStock: () => Promise<Answer>,
): Promise<Answer> {
  const answer = await takeStock()
  if (answer.verdict !== 'insufficient-stock') return answer
  let expired = 0
  for (let batches = 0; batches < BATCHES_MAX; batches++) {
    const count = await callExpireReservations(lanes, BATCH_ROWS)
    expired += count
    if (count < BATCH_ROWS) break
  }
  if (expired > 0) stockMetrics.countReservation('expired', expired)
  // Try again even if nothing was due: another request, or clean-up, may have given stock back since the first try.
  return takeStock()
}
