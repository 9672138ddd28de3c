/** The parts of the card of a transaction that clients see. */
export interface ShownCard {
  readonly bin: string
  readonly last4: string
  /** The last instant at which the card is valid, in RFC 3339. */
  readonly expiry: string
  /** Null for a number of an unknown scheme. */
  readonly scheme: string | null
}

/** The kind of an entry of a trail. A correction of a rejected operation has the kind of the operation. */
export type TrailKind = 'capture' | 'refund' | 'void' | 'disputeWon' | 'disputeLost'

/**
 * An entry of the trail of a transaction. Amounts are minor units below 2^53: `amount` of the transaction's currency, `balance`
 * and fees of the merchant's.
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
  /** Units of the funding currency for one of the transaction's, as decimal text; null where they are the same. */
  readonly rate: string | null
  /** `2026-03-01`. */
  readonly rateDate: string | null
}

export type OperationKind = 'capture' | 'refund' | 'void'

/** A transaction with its trail, oldest entry first. Amounts are minor units of its currency. */
export interface Transaction {
  readonly id: string
  readonly merchantId: string
  readonly test: boolean
  readonly created: Date
  readonly currency: string
  /** The currency of the merchant when the transaction was made. `balance` and the fees of the trail are in it. */
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
  /** Number of the processing error; null when the transaction was successful. */
  readonly errorCode: number | null
  readonly plan: unknown
  readonly unplanned: unknown
  readonly sourceId: string | null
  readonly trail: readonly TrailEntry[]
}
