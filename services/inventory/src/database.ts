import type { Generated, GeneratedAlways, Kysely, Transaction } from 'kysely'
import type { MovementType } from './movements/movement.ts'
import type { ReservationStatus } from './reservations/reservation.ts'

/** Tables of the schema `inventory`, with columns as in SQL. 64-bit integers arrive as bigint. */
export interface InventoryTables {
  readonly products: ProductTable
  readonly users: UserTable
  readonly locations: LocationTable
  readonly stock_levels: StockLevelTable
  readonly movements: MovementTable
  readonly reservations: ReservationTable
  readonly idempotency_keys: IdempotencyKeyTable
  readonly rate_limits: RateLimitTable
  readonly operator_audit: OperatorAuditTable
}

/** Tables that the service's role may read and add to, but never change. */
export const appendOnlyTables = ['movements', 'operator_audit'] as const
/** Tables that the service's role may only read: no endpoint changes a user. */
export const readOnlyTables = ['users'] as const
/** Tables whose rows the service's role may change, but never delete: movements refer to them. */
export const undeletableTables = ['products', 'locations', 'stock_levels', 'reservations'] as const

/** A deleted product stays for the movements that refer to it. */
export interface ProductTable {
  readonly id: Generated<bigint>
  readonly sku: string
  /** JSON. Written as text and read as `attributes::text`, so that no number passes through JavaScript. */
  readonly attributes: string
  /** Bytes of the attributes as text, in UTF-8. */
  readonly attributes_length: GeneratedAlways<number>
  readonly version: Generated<number>
  /** Orders all changes of products: each change takes the next number of one sequence. */
  readonly revision: Generated<bigint>
  readonly created_at: Generated<Date>
  readonly updated_at: Generated<Date>
  /** Null while the product is live. */
  readonly deleted_at: Date | null
}

export interface UserTable {
  readonly id: Generated<bigint>
  readonly username: string
  readonly first_name: string
  readonly last_name: string
}

export interface LocationTable {
  readonly id: Generated<bigint>
  readonly code: string
  readonly name: string
  readonly active: Generated<boolean>
  /** A trigger counts it. */
  readonly version: Generated<number>
  readonly created_at: Generated<Date>
  /** Null while the location is live. */
  readonly deleted_at: Date | null
}

/** The stock of a product at a location: the sum of its movements. */
export interface StockLevelTable {
  readonly product_id: bigint
  readonly location_id: bigint
  readonly on_hand: bigint
  /** The part of `on_hand` that reservations keep. */
  readonly reserved: bigint
  readonly updated_at: Date
}

/** The ledger of stock. Quantities are units of the product. */
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
  /** Both rows of a transfer have one id. */
  readonly transfer_id: bigint | null
  readonly reservation_id: bigint | null
  /** `sub` of the token; null when authentication is off. */
  readonly actor: string | null
  readonly created_at: Date
}

/** Reserved stock (see reservations/README.md). */
export interface ReservationTable {
  readonly id: bigint
  readonly product_id: bigint
  readonly location_id: bigint
  readonly quantity: bigint
  /** The part that is reserved at this moment. */
  readonly remaining: bigint
  readonly status: ReservationStatus
  readonly reference: string | null
  readonly expires_at: Date | null
  readonly created_at: Date
}

/** Idempotency keys with the answers of their requests, kept for a day. */
export interface IdempotencyKeyTable {
  /** `sub` of the token; empty when authentication is off. */
  readonly subject: string
  readonly key: string
  readonly path: string
  readonly request_hash: Buffer
  readonly created_at: Generated<Date>
}

/** Counters of the rate limit, if processes share them. */
export interface RateLimitTable {
  readonly key: string
  readonly points: Generated<number>
  /** Epoch milliseconds. */
  readonly expire: bigint | null
}

/** One row for each change of an operator (console reference: Audit of operators). */
export interface OperatorAuditTable {
  readonly id: GeneratedAlways<bigint>
  readonly created_at: Generated<Date>
  readonly action: string
  /** `sub` of the operator's token. */
  readonly actor_id: string
  readonly actor_email: string
  readonly key_name: string
  readonly role: string
  /** The address of the operator's browser. */
  readonly address: string
  readonly object_kind: string
  readonly object_id: bigint
  /** The products whose history shows the change. */
  readonly product_ids: bigint[]
  /** Null for a change that `If-Match` guards. */
  readonly idempotency_key: string | null
  /** JSON. */
  readonly changes: string
}

export type Db = Kysely<InventoryTables>

export type Trx = Transaction<InventoryTables>
