/** A card that is kept for a merchant under an id of its own. Deprecated: charge from a previous transaction instead. */
export interface Card {
  readonly id: string
  readonly merchantId: string
  readonly bin: string
  readonly last4: string
  /** Last instant at which it is good. */
  readonly expiry: Date
  readonly scheme: string
  readonly notes: string | null
  readonly deleted: Date | null
  readonly created: Date
}
