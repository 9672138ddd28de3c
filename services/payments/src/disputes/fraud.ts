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
