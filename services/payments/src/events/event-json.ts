import type { AppsTable, MerchantsTable, UsersTable } from '../database.ts'
import type { DisputesTable, FraudsTable, PayoutsTable } from '../merchant-tables.ts'
import type { TransactionColumns } from '../transactions/transaction-columns.ts'
import type { EventType } from './event-type.ts'

/** A row as PostgreSQL writes it as JSON: instants are texts, and amounts, which are below 2^53, numbers. */
type JsonRow<Row> = { readonly [Column in keyof Row]: JsonOf<Row[Column]> }
type JsonOf<Value> = Value extends { readonly __select__: infer Selected }
  ? JsonOf<Selected>
  : Value extends Date
    ? string
    : Value extends bigint
      ? number
      : Value

export type AppJson = JsonRow<AppsTable>
export type UserJson = JsonRow<UsersTable> & { readonly pending: boolean }
export type MerchantJson = JsonRow<MerchantsTable> & { readonly balance: number }
export type TransactionJson = JsonRow<TransactionColumns>
export type DisputeJson = JsonRow<DisputesTable>
export type FraudJson = JsonRow<FraudsTable>
export type PayoutJson = JsonRow<PayoutsTable>

/** A webhook that was given up. */
export interface WebhookJson {
  readonly id: string
  readonly url: string
  readonly events: readonly EventType[]
  readonly created: string
  readonly disabled: string
}
