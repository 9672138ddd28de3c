/** The parts of a transaction's card that clients see. */
export interface ShownCard {
  readonly bin: string
  readonly last4: string
  /** The last instant at which the card is valid, in RFC 3339. */
  readonly expiry: string
  /** `null` if the scheme of the number is unknown. */
  readonly scheme: string | null
}

/** The kind of a trail entry. A correction of a rejected operation has the kind of that operation. */
export type TrailKind = 'capture' | 'refund' | 'void' | 'disputeWon' | 'disputeLost'

/**
 * An entry of the trail of a transaction. Amounts are in minor units, below 2^53. `amount` is in the transaction's currency.
 * `balance` and the fees are in the merchant's currency.
 */
export interface TrailEntry {
  readonly id: string
  readonly kind: TrailKind
  readonly created: string
  readonly amount: number
  readonly balance: number
  readonly feeFlat: number
  readonly feeRate: number
  readonly descriptor: string
  readonly reference: string | null
  readonly lineId: string | null
  readonly disputeId: string | null
  /** Units of the funding currency per unit of the transaction's, as decimal text. `null` if they are the same. */
  readonly rate: string | null
  /** A date such as `2026-03-01`. */
  readonly rateDate: string | null
}

export type OperationKind = 'capture' | 'refund' | 'void'

/** A transaction with its trail, oldest entry first. Amounts are in minor units of its currency. */
export interface Transaction {
  readonly id: string
  readonly merchantId: string
  readonly test: boolean
  readonly created: Date
  readonly currency: string
  /** The currency of the merchant when the transaction was created. `balance` and the fees of the trail are in this currency. */
  readonly fundingCurrency: string
  readonly amount: bigint
  readonly descriptor: string
  readonly reference: string | null
  readonly pending: bigint
  readonly captured: bigint
  readonly refunded: bigint
  readonly voided: bigint
  readonly disputed: bigint
  readonly card: ShownCard
  readonly codePresent: boolean
  readonly custom: unknown
  readonly tds: 'attempt' | 'full' | null
  readonly recurring: boolean
  /** The number of the processing error. `null` if the transaction was successful. */
  readonly errorCode: number | null
  readonly plan: unknown
  readonly unplanned: unknown
  readonly sourceId: string | null
  readonly trail: readonly TrailEntry[]
}
