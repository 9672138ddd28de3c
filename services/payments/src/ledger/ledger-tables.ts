import type { MerchantRow } from '../merchants/merchant-tables.ts'
import type { TrailKind } from '../transactions/transaction.ts'

/** A row that is a link of the merchant's chain. */
interface ChainedRow extends MerchantRow {
  hash: Buffer
  hash_version: number
}

/**
 * An entry in the trail of a transaction. `amount` is in minor units of the transaction's currency. `gross`, the fees and
 * `balance` are in minor units of its funding currency. `rate` is the price of one unit of the transaction's currency in the
 * funding currency. `rate` is `null` if both currencies are the same.
 */
export interface TrailEntriesTable extends ChainedRow {
  transaction_id: string
  seq: number
  kind: TrailKind
  amount: bigint
  gross: bigint
  fee_flat: bigint
  fee_rate: bigint
  balance: bigint
  descriptor: string
  reference: string | null
  line_id: string | null
  dispute_id: string | null
  rate: string | null
  rate_date: Date | null
}

/** The kind of a line: the operation that changed the merchant's balance. */
export type LineKind = 'capture' | 'refund' | 'dispute' | 'payout' | 'payoutReversal' | 'adjustment'

/**
 * A change of the merchant's balance. `amount` is in minor units of `currency`, the currency of the transaction. `balance` (the
 * change), `fee` and `balance_after` are in minor units of the merchant's currency at that time.
 */
export interface LinesTable extends ChainedRow {
  kind: LineKind
  balance: bigint
  fee: bigint
  description: string | null
  transaction_id: string | null
  amount: bigint | null
  currency: string | null
  balance_after: bigint
  journal_id: string
  test: boolean
}

/** A group of ledger entries with one cause: a trail entry, a payout, or the reference of a settlement. */
export interface JournalsTable extends ChainedRow {
  kind: LineKind | 'payoutSettled' | 'schemeSettled' | 'currencyClosed' | 'currencyOpened'
  cause_id: string
  test: boolean
}

/** One side of a journal. Amounts are in minor units of the currency, and a credit is positive. */
export interface EntriesTable {
  merchant_id: string
  journal_id: string
  seq: number
  account: string
  currency: string
  amount: bigint
  test: boolean
}

/** The sums of entries up to the end of a UTC day. `sum` is decimal text in minor units. A credit is positive. */
export interface AccountSnapshotsTable {
  merchant_id: string
  account: string
  currency: string
  test: boolean
  date: Date
  sum: string
}

/** A link of the merchant's chain of states. It contains digests of the columns of a row at the time of a change. */
export interface StateEntriesTable extends ChainedRow {
  table_name: string
  row_id: string
  money: Buffer
  party: Buffer
  terms: Buffer
  /** The database login that inserted the link. */
  login: string
}
