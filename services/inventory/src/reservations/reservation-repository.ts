import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type Answer, answerOf } from '../idempotency/answer.ts'
import { type Caller, type CallerColumns, callerColumns, callerRow } from '../idempotency/caller.ts'
import type { NewReservation, ReservationStatus } from './reservation.ts'
import type { Reservation } from './reservation-view.ts'

/** Why stock cannot be reserved. */
export type ReserveRefusal = 'product-not-found' | 'location-not-found' | 'insufficient-stock'

/** Why reserved stock cannot be shipped: there is no such reservation, it is over, or less remains. */
export type CommitRefusal = 'not-found' | 'above-remaining' | Exclude<ReservationStatus, 'active'>

const reserveQuery = prepare('reserve', (p: CallerColumns & NewReservation) =>
  answerOf<Reservation, ReserveRefusal>(
    sql`${sql.table('reserve')}(
      ${callerRow(p)}, ${p.productId}, ${p.locationId}, ${p.quantity}, ${p.expiresInSeconds}, ${p.reference})`,
  ),
)

const commitQuery = prepare('commit_reservation', (p: CallerColumns & { id: number; quantity: number | undefined }) =>
  answerOf<Reservation, CommitRefusal>(
    sql`${sql.table('commit_reservation')}(${callerRow(p)}, ${p.id}, ${p.quantity})`,
  ),
)

const releaseQuery = prepare(
  'release_reservation',
  (p: { actor: string | null; id: number }) =>
    sql<{ before: ReservationStatus | 'not-found' }>`
      SELECT ${sql.table('release_reservation')}(${p.actor}, ${p.id}) AS before`,
)

const expireQuery = prepare(
  'expire_reservations',
  (p: { limit: number }) => sql<{ expired: number }>`SELECT ${sql.table('expire_reservations')}(${p.limit}) AS expired`,
)

/** Reserves what is available. */
export function callReserve(
  lanes: Lanes,
  caller: Caller,
  reservation: NewReservation,
): Promise<Answer<Reservation, ReserveRefusal>> {
  return lanes.write.one(reserveQuery, { ...callerColumns(caller), ...reservation })
}

/** Ships of a reservation: `quantity`, or all that remains. */
export function callCommitReservation(
  lanes: Lanes,
  caller: Caller,
  commit: { readonly id: number; readonly quantity: number | undefined },
): Promise<Answer<Reservation, CommitRefusal>> {
  return lanes.write.one(commitQuery, { ...callerColumns(caller), ...commit })
}

/** Gives back what remains of an active reservation. Resolves to what it was before. */
export async function callReleaseReservation(
  lanes: Lanes,
  actor: string | null,
  id: number,
): Promise<ReservationStatus | 'not-found'> {
  return (await lanes.write.one(releaseQuery, { actor, id })).before
}

/** Expires reservations that are due, at most `limit`. Resolves to how many they were. */
export async function callExpireReservations(lanes: Lanes, limit: number): Promise<number> {
  return (await lanes.write.one(expireQuery, { limit })).expired
}
