import { z } from 'zod'
import type { Reason } from './dispute.ts'

/** A notice of a scheme that a payment was fraud. It moves no money. */
export interface Fraud {
  readonly id: string
  readonly merchantId: string
  readonly transactionId: string
  /** The time at which the fraud was reported to the issuer. */
  readonly reported: Date | null
  /** 0 to 8 (reference: Fraud alerts). */
  readonly reason: number | null
  readonly created: Date
}

const TITLES = [
  'Misc',
  'Fraudulent usage',
  'Fraudulent application',
  'Counterfeit',
  'Account takeover',
  'Card not delivered',
  'Card stolen',
  'Card lost',
  'Cardholder manipulated',
]

/** The reasons that schemes use, in the order of their codes from 0 (reference: Fraud alerts). */
export const FRAUD_REASONS: readonly Reason[] = TITLES.map((title, code) => ({ code, title }))

/** The JSON of a fraud alert, both in lists and as a single object (reference: Other objects). */
export const FraudView = z
  .object({
    id: z.string(),
    merchantId: z.string(),
    transactionId: z.string(),
    created: z.iso.datetime(),
    reported: z.iso.datetime().optional(),
    reason: z.int().min(0).max(8).optional(),
  })
  .meta({ id: 'FraudAlert' })

export function viewFraud({
  id,
  merchantId,
  transactionId,
  created,
  reported,
  reason,
}: Fraud): z.infer<typeof FraudView> {
  return {
    id,
    merchantId,
    transactionId,
    created: created.toISOString(),
    ...(reported === null ? {} : { reported: reported.toISOString() }),
    ...(reason === null ? {} : { reason }),
  }
}
