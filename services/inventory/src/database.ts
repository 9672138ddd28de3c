import type { Generated, GeneratedAlways } from 'kysely'
import type { StockTables } from './stock-tables.ts'

/** Rows of the schema `inventory`, columns as in SQL. 64-bit integers arrive as bigint. */
export interface InventoryTables extends StockTables {
  readonly products: ProductTable
  readonly users: UserTable
  readonly rate_limits: RateLimitTable
}

export interface ProductTable {
  readonly id: Generated<bigint>
  readonly sku: string
  /** JSON. Written as text and read as `attributes::text`, so that no number passes through JavaScript. */
  readonly attributes: string
  /** Bytes of the attributes as text, in UTF-8. */
  readonly attributes_length: GeneratedAlways<number>
  readonly version: Generated<number>
  /** The place of the product's latest change among all changes of products. */
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

/** Counters of the rate limiter, when processes share them. */
export interface RateLimitTable {
  readonly key: string
  readonly points: Generated<number>
  /** Epoch milliseconds. */
  readonly expire: bigint | null
}
