import { z } from 'zod'
import { Amount } from '../pages/money.ts'

const Payout = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  created: z.string(),
  amount: Amount,
  currency: z.string(),
  status: z.enum(['created', 'exported', 'settled', 'failed']),
  lineId: z.string(),
  bank: z.object({ iban: z.string() }),
  test: z.boolean(),
})
/** A payout as payments shows it (payments reference: Other objects). */
export type Payout = z.infer<typeof Payout>

/** A payout alone. */
export const PayoutView = z.object({ payout: Payout })
/** A page of payouts. */
export const PayoutsView = z.object({ payouts: z.array(Payout) })

const Batch = z.looseObject({
  id: z.string(),
  created: z.string(),
  payouts: z.int(),
  currencies: z.array(z.object({ currency: z.string(), amount: Amount })),
})
/** Payouts that the bank got together. */
export type Batch = z.infer<typeof Batch>

/** A page of batches. */
export const BatchesView = z.object({ batches: z.array(Batch) })

/** The files of a batch for the bank, as base64. */
export const BankFiles = z.object({
  files: z.array(z.object({ name: z.string(), type: z.string(), content: z.base64() })),
})

/** The path of the list of payouts. */
export const PAYOUTS_PATH = '/payouts'
/** The path of the list of batches of payouts. */
export const BATCHES_PATH = '/payouts/batches'

/** Returns the path of a payout. */
export function payoutPath(id: string): string {
  return `${PAYOUTS_PATH}/${encodeURIComponent(id)}`
}
