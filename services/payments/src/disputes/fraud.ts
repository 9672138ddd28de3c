import type { Reason } from './dispute.ts'

/** A notice of a scheme that a payment was fraud. It moves no money. */
export interface Fraud {
  readonly id: string
  readonly merchantId: string
  readonly transactionId: string
  /** When the fraud was reported to the issuer. */
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

/** The reasons of schemes, from code 0 on (reference: Fraud alerts). */
export const FRAUD_REASONS: readonly Reason[] = TITLES.map((title, code) => ({ code, title }))
