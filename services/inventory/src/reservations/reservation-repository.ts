import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Answer, Caller } from '../idempotency/idempotent-request.ts'
import { answerOf, type CallerColumns, callerColumns, callerRow } from '../idempotency/key-repository.ts'
import type { ReserveRefusal } from '../stock/level.ts'
import type { NewReservation, Reservation, ReservationStatus } from './reservation.ts'

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

interface ReservationFilters {
  readonly productId?: number | undefined
  readonly locationId?: number | undefined
  readonly status?: ReservationStatus | undefined
  readonly reference?: string | undefined
}

/** A condition: due, but not yet expired by clean-up. Such a reservation is shown like an expired one. */
const IS_DUE = sql`(r.status = 'active' AND r.expires_at <= now())`
const RESERVATION = sql`
  CASE WHEN ${IS_DUE} THEN (${sql.table('reservation_json')}(r)::jsonb || '{"status":"expired","remaining":0}')::json
  ELSE ${sql.table('reservation_json')}(r) END AS reservation`

const findQuery = prepare(
  'find_reservation',
  (p: { id: number }) =>
    sql<{ reservation: Reservation }>`SELECT ${RESERVATION} FROM ${sql.table('reservations')} r WHERE r.id = ${p.id}`,
)

const overdueQuery = prepare(
  'find_overdue_seconds',
  () =>
    sql<{ seconds: number }>`
      SELECT coalesce(greatest(extract(epoch FROM now() - min(expires_at)), 0), 0)::float8 AS seconds
      FROM ${sql.table('reservations')} WHERE status = 'active'`,
)

/** Returns for how many seconds the most overdue reservation has been due, or 0 if none is due. */
export async function findOverdueSeconds(pools: Pools): Promise<number> {
  return (await pools.read.one(overdueQuery, {})).seconds
}

/** Returns a reservation with any status, or `undefined` if it does not exist. */
export async function findReservation(pools: Pools, id: number): Promise<Reservation | undefined> {
  return (await pools.read.first(findQuery, { id }))?.reservation
}

/** Returns at most `limit` reservations with ids above `after`, sorted by id. */
export async function listReservations(
  db: Db,
  { productId, locationId, status, reference }: ReservationFilters,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<Reservation[]> {
  const conditions = [
    sql`r.id > ${after}`,
    productId !== undefined && sql`r.product_id = ${productId}`,
    locationId !== undefined && sql`r.location_id = ${locationId}`,
    status !== undefined && hasStatus(status),
    reference !== undefined && sql`r.reference = ${reference}`,
  ].filter((condition) => condition !== false)
  const { rows } = await sql<{ reservation: Reservation }>`
    SELECT ${RESERVATION} FROM ${sql.table('reservations')} r
    WHERE ${sql.join(conditions, sql` AND `)} ORDER BY r.id LIMIT ${limit}`.execute(db)
  return rows.map(({ reservation }) => reservation)
}

function hasStatus(status: ReservationStatus): RawBuilder<unknown> {
  if (status === 'active') return sql`(r.status = 'active' AND NOT coalesce(r.expires_at <= now(), false))`
  return status === 'expired' ? sql`(r.status = 'expired' OR ${IS_DUE})` : sql`r.status = ${status}`
}

/** Reserves stock in one database call. An idempotent request gets the reservation of the first request. */
export function callReserve(
  pools: Pools,
  caller: Caller,
  reservation: NewReservation,
): Promise<Answer<Reservation, ReserveRefusal>> {
  return pools.write.one(reserveQuery, { ...callerColumns(caller), ...reservation })
}

/** Ships `quantity` of a reservation, or the remaining quantity if absent. */
export function callCommitReservation(
  pools: Pools,
  caller: Caller,
  commit: { readonly id: number; readonly quantity: number | undefined },
): Promise<Answer<Reservation, CommitRefusal>> {
  return pools.write.one(commitQuery, { ...callerColumns(caller), ...commit })
}

/** Releases the remaining quantity of an active reservation. Resolves to its status before the call. */
export async function callReleaseReservation(
  pools: Pools,
  actor: string | null,
  id: number,
): Promise<ReservationStatus | 'not-found'> {
  return (await pools.write.one(releaseQuery, { actor, id })).before
}

/** Expires at most `limit` due reservations. Resolves to their number. */
export async function callExpireReservations(pools: Pools, limit: number): Promise<number> {
  return (await pools.write.one(expireQuery, { limit })).expired
}

interface ExpiryDeps {
  readonly pools: Pools
  readonly stockMetrics: { countReservation(status: 'expired', count: number): void }
}

const BATCH_ROWS = 100
/** The maximum number of batches for which a request waits, however many reservations are due. */
const BATCHES_MAX = 10

/**
 * Takes stock. If there is too little, expires the due reservations and tries again. Reserved stock is free from `expiresAt`, not
 * only after the next clean-up (reference: Reservation expiry).
 */
export async function retryAfterExpiry<Answer extends { readonly verdict: string }>(
  { pools, stockMetrics }: ExpiryDeps,
  takeStock: () => Promise<Answer>,
): Promise<Answer> {
  const answer = await takeStock()
  if (answer.verdict !== 'insufficient-stock') return answer
  let expired = 0
  for (let batches = 0; batches < BATCHES_MAX; batches++) {
    const count = await callExpireReservations(pools, BATCH_ROWS)
    expired += count
    if (count < BATCH_ROWS) break
  }
  if (expired > 0) stockMetrics.countReservation('expired', expired)
  // Try again even if nothing was due, because another request or clean-up may have released stock meanwhile.
  return takeStock()
}
