import type { LineKind } from './ledger-tables.ts'

/**
 * A change of a merchant's balance. `balance`, `fee` and `balanceAfter` are minor units of the merchant's currency of now, or of
 * `formerCurrency`.
 */
export interface Line {
  readonly id: string
  readonly merchantId: string
  readonly test: boolean
  readonly created: Date
  readonly kind: LineKind
  readonly balance: bigint
  readonly fee: bigint
  readonly balanceAfter: bigint
  readonly description: string | null
  readonly transactionId: string | null
  /** Minor units of `currency`, the currency of the transaction. Null for payouts and adjustments. */
  readonly amount: bigint | null
  readonly currency: string | null
  /** The currency that the merchant had then. Null: that of now. */
  readonly formerCurrency: string | null
}
