import type { Generated } from 'kysely'
import type { MovementType } from './movements/movement.ts'
import type { ReservationStatus } from './reservations/reservation.ts'

/** Rows of what is stocked where. */
export interface StockTables {
  readonly locations: LocationTable
  readonly stock_levels: StockLevelTable
  readonly movements: MovementTable
  readonly reservations: ReservationTable
  readonly idempotency_keys: IdempotencyKeyTable
}

/** Tables that the service may read and add to, but never change. */
export const appendOnlyTables = ['movements'] as const

export interface LocationTable {
  readonly id: Generated<bigint>
  readonly code: string
  readonly name: string
  readonly active: Generated<boolean>
  /** Counted by a trigger. */
  readonly version: Generated<number>
  readonly created_at: Generated<Date>
  /** Null while there is such a location. */
  readonly deleted_at: Date | null
}

/** What of a product is at a location: the sum of its movements. */
export interface StockLevelTable {
  readonly product_id: bigint
  readonly location_id: bigint
  readonly on_hand: bigint
  /** The part of `on_hand` that reservations hold. */
  readonly reserved: bigint
  readonly updated_at: Date
}

/** The ledger of stock. */
export interface MovementTable {
  readonly id: bigint
  readonly product_id: bigint
  readonly location_id: bigint
  readonly type: MovementType
  readonly on_hand_delta: bigint
  readonly reserved_delta: bigint
  readonly on_hand_after: bigint
  readonly reserved_after: bigint
  readonly reason: string | null
  readonly reference: string | null
  /** Alike in the two rows of a transfer. */
  readonly transfer_id: bigint | null
  readonly reservation_id: bigint | null
  /** Who moved, where the service knows its callers. */
  readonly actor: string | null
  readonly created_at: Date
}

export interface ReservationTable {
  readonly id: bigint
  readonly product_id: bigint
  readonly location_id: bigint
  readonly quantity: bigint
  /** What of it is reserved now. */
  readonly remaining: bigint
  readonly status: ReservationStatus
  readonly reference: string | null
  readonly expires_at: Date | null
  readonly created_at: Date
}

/** Requests that must have one effect, with what they were answered; kept for a day. */
export interface IdempotencyKeyTable {
  /** Whose key it is; empty where the service does not know its callers. */
  readonly subject: string
  readonly key: string
  readonly path: string
  readonly request_hash: Buffer
  readonly created_at: Generated<Date>
}
