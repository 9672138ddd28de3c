import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Answer, Caller } from '../idempotency/idempotent-request.ts'
import { answerOf, type CallerColumns, callerColumns, callerRow } from '../idempotency/key-repository.ts'
import type { MoveRefusal } from '../stock/level.ts'
import { effectOf, type MovedStock, type Movement, type MovementLine, type MovementType } from './movement.ts'

export interface MovementFilters {
  readonly productId?: number | undefined
  readonly locationId?: number | undefined
  readonly type?: MovementType | undefined
  readonly reference?: string | undefined
  /** Inclusive. */
  readonly from?: Date | undefined
  /** Exclusive. */
  readonly to?: Date | undefined
}

// Cast to `float8`, so that 64-bit integers arrive as numbers. All of them are small enough to be exact.
const MOVEMENT = sql<Movement>`
  id::float8, product_id::float8 AS "productId", location_id::float8 AS "locationId", type,
  on_hand_delta::float8 AS "onHandDelta", reserved_delta::float8 AS "reservedDelta",
  on_hand_after::float8 AS "onHandAfter", reserved_after::float8 AS "reservedAfter",
  reason, reference, transfer_id::float8 AS "transferId", reservation_id::float8 AS "reservationId", actor,
  created_at AS "createdAt"`

const findQuery = prepare(
  'find_movement',
  (p: { id: number }) => sql<Movement>`SELECT ${MOVEMENT} FROM ${sql.table('movements')} WHERE id = ${p.id}`,
)

export function findMovement(pools: Pools, id: number): Promise<Movement | undefined> {
  return pools.read.first(findQuery, { id })
}

/**
 * Lists movements, newest first, at most `limit`. `after` is the id of the last movement of the previous page, or 0 for the first
 * page.
 */
export async function listMovements(
  db: Db,
  { productId, locationId, type, reference, from, to }: MovementFilters,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<Movement[]> {
  const movements = sql.table('movements')
  const conditions = [
    productId !== undefined && sql`product_id = ${productId}`,
    locationId !== undefined && sql`location_id = ${locationId}`,
    type !== undefined && sql`type = ${type}`,
    reference !== undefined && sql`reference = ${reference}`,
    from !== undefined && sql`created_at >= ${from}`,
    to !== undefined && sql`created_at < ${to}`,
    after > 0 && sql`(created_at, id) < (SELECT m.created_at, m.id FROM ${movements} m WHERE m.id = ${after})`,
  ].filter((condition) => condition !== false)
  const { rows } = await sql<Movement>`
    SELECT ${MOVEMENT} FROM ${movements}
    WHERE ${conditions.length > 0 ? sql.join(conditions, sql` AND `) : sql`true`}
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`.execute(db)
  return rows
}

const moveQuery = prepare('move_stock', (p: CallerColumns & { lines: string }) =>
  answerOf<MovedStock, MoveRefusal>(sql`${sql.table('move_stock')}(${callerRow(p)}, ${p.lines}::json)`),
)

/** Carries out all lines of a request in their order, or none. */
export function callMoveStock(
  pools: Pools,
  caller: Caller,
  lines: readonly MovementLine[],
): Promise<Answer<MovedStock, MoveRefusal>> {
  const input = { ...callerColumns(caller), lines: JSON.stringify(lines.map(toRow)) }
  return pools.write.one(moveQuery, input)
}

/** Converts a line to the SQL type `stock_line`. */
function toRow(line: MovementLine): object {
  const { locationId, toLocationId, onHandDelta, counted } = effectOf(line)
  const { type, productId, expectedOnHand, reason, reference } = line
  return {
    type,
    product_id: productId,
    location_id: locationId,
    to_location_id: toLocationId,
    on_hand_delta: onHandDelta,
    counted,
    expected_on_hand: expectedOnHand,
    reason,
    reference,
  }
}
