/** A transfer of a merchant's balance to its bank account, in minor units of `currency`. */
export interface Payout {
  readonly id: string
  readonly merchantId: string
  readonly amount: bigint
  readonly currency: string
  readonly status: 'created' | 'exported' | 'settled' | 'failed'
  readonly lineId: string
  readonly iban: string
  readonly test: boolean
  readonly created: Date
}

/** Why a merchant is not paid out. */
export type PayoutSkip = 'events_waiting' | 'negative' | 'below_minimum' | 'no_iban'
