import type { Generated, GeneratedAlways, Kysely, Transaction } from 'kysely'
import type { MovementType } from './movements/movement.ts'
import type { ReservationStatus } from './reservations/reservation.ts'

/** The tables of the schema `inventory`, with SQL column names. 64-bit integers are bigint. */
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

/** Tables that the service's role may only read and append to. */
export const appendOnlyTables = ['movements', 'operator_audit'] as const
/** Tables that the service's role may only read, because no endpoint changes users. */
export const readOnlyTables = ['users'] as const
/** Tables whose rows the service's role may change but not delete, because movements refer to them. */
export const undeletableTables = ['products', 'locations', 'stock_levels', 'reservations'] as const

/** Products. A deleted product stays, because movements refer to it. */
export interface ProductTable {
  readonly id: Generated<bigint>
  readonly sku: string
  /** JSON. It is written as text and read as `attributes::text`, so that JavaScript does not change numbers. */
  readonly attributes: string
  /** The size of the attributes as text, in bytes of UTF-8. */
  readonly attributes_length: GeneratedAlways<number>
  readonly version: Generated<number>
  /** Orders all product changes. Each change takes the next number of one sequence. */
  readonly revision: Generated<bigint>
  readonly created_at: Generated<Date>
  readonly updated_at: Generated<Date>
  /** `null` while the product is live. */
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
  /** A trigger increments it. */
  readonly version: Generated<number>
  readonly created_at: Generated<Date>
  /** `null` while the location is live. */
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
  /** Both rows of a transfer have the same id. */
  readonly transfer_id: bigint | null
  readonly reservation_id: bigint | null
  /** The `sub` of the access token, or `null` if authentication is off. */
  readonly actor: string | null
  readonly created_at: Date
}

/** Reservations (see reservations/README.md). */
export interface ReservationTable {
  readonly id: bigint
  readonly product_id: bigint
  readonly location_id: bigint
  readonly quantity: bigint
  /** The quantity that is still reserved. */
  readonly remaining: bigint
  readonly status: ReservationStatus
  readonly reference: string | null
  readonly expires_at: Date | null
  readonly created_at: Date
}

/** Idempotency keys and the answers to their requests, stored for a day. */
export interface IdempotencyKeyTable {
  /** The `sub` of the access token, or empty if authentication is off. */
  readonly subject: string
  readonly key: string
  readonly path: string
  readonly request_hash: Buffer
  readonly created_at: Generated<Date>
}

/** The rate limit counters that processes share. */
export interface RateLimitTable {
  readonly key: string
  readonly points: Generated<number>
  /** Milliseconds since 1970. */
  readonly expire: bigint | null
}

/** The changes of operators (console reference: Audit of operators). */
export interface OperatorAuditTable {
  readonly id: GeneratedAlways<bigint>
  readonly created_at: Generated<Date>
  readonly action: string
  /** The `sub` of the operator's access token. */
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
  /** `null` for a change that `If-Match` protects. */
  readonly idempotency_key: string | null
  /** JSON. */
  readonly changes: string
}

export type Db = Kysely<InventoryTables>

export type Trx = Transaction<InventoryTables>
