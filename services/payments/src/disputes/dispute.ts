/** A dispute about a transaction. */
export interface Dispute {
  readonly id: string
  readonly merchantId: string
  readonly transactionId: string
  /** Minor units of `currency`, which the issuer chooses. */
  readonly amount: bigint
  readonly currency: string
  /** The part of the amount that exceeds what was captured and not refunded; mostly 0. */
  readonly excess: bigint
  readonly reason: { readonly code: number; readonly title: string }
  /** The end of the time in which the merchant may contest it. */
  readonly due: Date
  readonly status: 'open' | 'won' | 'lost'
  readonly resolved: Date | null
  readonly created: Date
}

/** Why a customer disputes a payment, or why a scheme takes one for fraud. */
export interface Reason {
  /** The number that the schemes have given it. */
  readonly code: number
  readonly title: string
}

/** The reason of a dispute whose acquirer names none. */
export const DEFAULT_REASON = { reasonCode: 4853, reasonTitle: 'Cardholder dispute' } as const

/** The reasons of customers (reference: Disputes). The default comes first. */
export const DISPUTE_REASONS: readonly Reason[] = [
  { code: DEFAULT_REASON.reasonCode, title: DEFAULT_REASON.reasonTitle },
  { code: 104, title: 'Fraud, card absent' },
  { code: 131, title: 'Not received' },
  { code: 133, title: 'Not as described' },
  { code: 136, title: 'Credit not processed' },
  { code: 137, title: 'Cancelled' },
  { code: 4808, title: 'Authorization missing' },
  { code: 4834, title: 'Processing error' },
  { code: 4837, title: 'No cardholder authorization' },
]

/** The title of a reason (reference: Disputes). Undefined for an unknown code. */
export function reasonTitle(code: number): string | undefined {
  return DISPUTE_REASONS.find((reason) => reason.code === code)?.title
}
