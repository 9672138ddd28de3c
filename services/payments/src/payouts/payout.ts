import { z } from 'zod'

/** A transfer of a merchant's balance to its bank account. The amount is in minor units of `currency`. */
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

/** The reason why a merchant is not paid out. */
export type PayoutSkip = 'events_waiting' | 'negative' | 'below_minimum' | 'no_iban'

/** The JSON of a payout, both in lists and as a single object (reference: Other objects). */
export const PayoutView = z
  .object({
    id: z.string(),
    merchantId: z.string(),
    created: z.iso.datetime(),
    amount: z.int(),
    currency: z.string(),
    status: z.enum(['created', 'exported', 'settled', 'failed']),
    lineId: z.string(),
    bank: z.object({ iban: z.string() }),
    test: z.boolean(),
  })
  .meta({ id: 'Payout' })

export function viewPayout(payout: Payout): z.infer<typeof PayoutView> {
  const { id, merchantId, created, amount, currency, status, lineId, iban, test } = payout
  return {
    id,
    merchantId,
    created: created.toISOString(),
    amount: Number(amount),
    currency,
    status,
    lineId,
    bank: { iban },
    test,
  }
}
