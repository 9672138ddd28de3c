/** A dispute about a transaction, in minor units of the transaction's currency. */
export interface Dispute {
  readonly id: string
  readonly merchantId: string
  readonly transactionId: string
  readonly amount: bigint
  readonly currency: string
  readonly reason: { readonly code: number; readonly title: string }
  /** The end of the time in which the merchant may contest it. */
  readonly due: Date
  readonly status: 'open' | 'won' | 'lost'
  readonly resolved: Date | null
  readonly created: Date
}

/** The reason of a dispute whose acquirer names none. */
export const DEFAULT_REASON = { reasonCode: 4853, reasonTitle: 'Cardholder dispute' } as const

/** The reasons of customers, by the codes of the schemes. */
const TITLES: ReadonlyMap<number, string> = new Map([
  [104, 'Fraud, card absent'],
  [131, 'Not received'],
  [133, 'Not as described'],
  [136, 'Credit not processed'],
  [137, 'Cancelled'],
  [4808, 'Authorization missing'],
  [4834, 'Processing error'],
  [4837, 'No cardholder authorization'],
  [DEFAULT_REASON.reasonCode, DEFAULT_REASON.reasonTitle],
])

/** The codes of all reasons. */
export const REASON_CODES: readonly number[] = [...TITLES.keys()]

/** The title of a reason (reference: Disputes). Undefined for an unknown code. */
export function reasonTitle(code: number): string | undefined {
  return TITLES.get(code)
}
