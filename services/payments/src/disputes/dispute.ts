import { z } from 'zod'
import { FIELD_TEXTS } from '../field-errors.ts'
import { amount } from '../requests/fields.ts'

export interface Dispute {
  readonly id: string
  readonly merchantId: string
  readonly transactionId: string
  /** Minor units of `currency`. The issuer chooses the currency. */
  readonly amount: bigint
  readonly currency: string
  /** The part of the amount above the money that was captured and not refunded. Usually 0. */
  readonly excess: bigint
  readonly reason: { readonly code: number; readonly title: string }
  /** The time until which the merchant may contest the dispute. */
  readonly due: Date
  readonly status: 'open' | 'won' | 'lost'
  readonly resolved: Date | null
  readonly created: Date
}

/** The disputed amount and its reason, by the codes of the reference (reference: Disputes). */
export interface NewDispute {
  /** Minor units. If absent, everything that can be disputed. */
  readonly amount?: number | undefined
  /** If absent, the currency of the transaction. */
  readonly currency?: string | undefined
  readonly reasonCode: number
  readonly reasonTitle: string
  /** The acquirer's own reference, without the name of the acquirer. A second dispute with the same reference is not opened. */
  readonly acquirerRef?: string | undefined
}

/** A reason for which a customer disputes a payment, or for which a scheme considers it fraud. */
export interface Reason {
  /** The number that the schemes use. */
  readonly code: number
  readonly title: string
}

/** The reason of a dispute if the acquirer states none. */
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

/** Returns the title of a reason (reference: Disputes). Returns `undefined` if the code is unknown. */
export function reasonTitle(code: number): string | undefined {
  return DISPUTE_REASONS.find((reason) => reason.code === code)?.title
}

const reasonCode = z
  .int()
  .refine((code) => reasonTitle(code) !== undefined, { error: FIELD_TEXTS.notReason, params: { code: 'UNKNOWN' } })
  .meta({ enum: DISPUTE_REASONS.map(({ code }) => code) })

/** The body of a request for a new dispute (reference: Test endpoints). */
export const DisputeBody = z.object({
  amount: amount().optional(),
  reason: z.object({ code: reasonCode.optional() }).optional(),
})

/** Returns the dispute that a request describes. A missing reason becomes the default reason. */
export function toNewDispute({ amount, reason }: z.output<typeof DisputeBody>): NewDispute {
  const code = reason?.code ?? DEFAULT_REASON.reasonCode
  return { amount, reasonCode: code, reasonTitle: reasonTitle(code) ?? '' }
}

/** The JSON of a dispute, both in lists and as a single object (reference: Other objects). */
export const DisputeView = z
  .object({
    id: z.string(),
    merchantId: z.string(),
    transactionId: z.string(),
    created: z.iso.datetime(),
    amount: z.int(),
    currency: z.string(),
    excess: z.int().optional(),
    reason: z.object({ code: z.int(), title: z.string() }),
    due: z.iso.datetime(),
    status: z.enum(['open', 'won', 'lost']),
    resolved: z.iso.datetime().optional(),
  })
  .meta({ id: 'Dispute' })

/** Returns the JSON of a dispute. An open dispute has no `resolved`, and a dispute without an excess has no `excess`. */
export function viewDispute(dispute: Dispute): z.infer<typeof DisputeView> {
  const { id, merchantId, transactionId, created, amount, currency, excess, reason, due, status, resolved } = dispute
  return {
    id,
    merchantId,
    transactionId,
    created: created.toISOString(),
    amount: Number(amount),
    currency,
    ...(excess === 0n ? {} : { excess: Number(excess) }),
    reason: { code: reason.code, title: reason.title },
    due: due.toISOString(),
    status,
    ...(resolved === null ? {} : { resolved: resolved.toISOString() }),
  }
}
