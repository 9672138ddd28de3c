import { z } from 'zod'
import { hasFixedRate } from '../money/currencies.ts'
import { processingError } from './processing-error.ts'
import type { TrailEntry, Transaction } from './transaction.ts'

const ErrorObject = z.object({
  code: z.int(),
  message: z.string(),
  text: z.string(),
  client: z.boolean(),
  merchant: z.boolean(),
})

/** An entry has exactly one of `capture`, `refund`, `void` and `dispute`. */
const TrailEntryView = z.object({
  id: z.string(),
  capture: z.literal(true).optional(),
  refund: z.literal(true).optional(),
  void: z.literal(true).optional(),
  dispute: z.object({ id: z.string(), won: z.literal(true).optional(), lost: z.literal(true).optional() }).optional(),
  created: z.iso.datetime(),
  amount: z.int(),
  balance: z.int(),
  fee: z.object({ flat: z.int(), rate: z.int() }),
  descriptor: z.string(),
  reference: z.string().optional(),
  lineId: z.string().optional(),
  exchange: z.object({ rate: z.string(), date: z.iso.date() }).optional(),
})

/** A transaction in an answer, in the same form in lists and single answers (reference: Transaction object). */
export const TransactionView = z
  .object({
    id: z.string(),
    merchantId: z.string(),
    test: z.boolean(),
    created: z.iso.datetime(),
    currency: z.string(),
    amount: z.int(),
    descriptor: z.string(),
    reference: z.string().optional(),
    pendingAmount: z.int(),
    capturedAmount: z.int(),
    refundedAmount: z.int(),
    voidedAmount: z.int(),
    disputedAmount: z.int(),
    card: z.object({
      bin: z.string(),
      last4: z.string(),
      expiry: z.iso.datetime(),
      scheme: z.string().optional(),
      code: z.object({ present: z.boolean() }),
    }),
    custom: z.unknown().optional(),
    tds: z.enum(['attempt', 'full']).optional(),
    recurring: z.boolean(),
    successful: z.boolean(),
    error: z.union([z.literal(false), ErrorObject]),
    plan: z.unknown().optional(),
    unplanned: z.unknown().optional(),
    sourceTransactionId: z.string().optional(),
    fundingCurrency: z.string().optional(),
    trail: z.array(TrailEntryView),
  })
  .meta({ id: 'Transaction' })

/** Converts a transaction to JSON, without `undefined` fields. @throws RangeError if the error code is unknown */
export function viewTransaction(transaction: Transaction): z.infer<typeof TransactionView> {
  const { id, merchantId, test, currency, descriptor, card, errorCode, recurring } = transaction
  return {
    id,
    merchantId,
    test,
    created: transaction.created.toISOString(),
    currency,
    amount: Number(transaction.amount),
    descriptor,
    reference: transaction.reference ?? undefined,
    pendingAmount: Number(transaction.pending),
    capturedAmount: Number(transaction.captured),
    refundedAmount: Number(transaction.refunded),
    voidedAmount: Number(transaction.voided),
    disputedAmount: Number(transaction.disputed),
    card: {
      bin: card.bin,
      last4: card.last4,
      expiry: card.expiry,
      scheme: card.scheme ?? undefined,
      code: { present: transaction.codePresent },
    },
    custom: transaction.custom ?? undefined,
    tds: transaction.tds ?? undefined,
    recurring,
    successful: errorCode === null,
    error: errorCode === null ? false : processingError(errorCode),
    plan: transaction.plan ?? undefined,
    unplanned: transaction.unplanned ?? undefined,
    sourceTransactionId: transaction.sourceId ?? undefined,
    // Present only if the merchant may have changed to the euro since. Otherwise the merchant's currency applies.
    fundingCurrency: hasFixedRate(transaction.fundingCurrency) ? transaction.fundingCurrency : undefined,
    trail: transaction.trail.map(viewTrailEntry),
  }
}

function viewTrailEntry(entry: TrailEntry): z.infer<typeof TrailEntryView> {
  const { id, kind, amount, balance, feeFlat, feeRate, descriptor, rate, rateDate } = entry
  return {
    id,
    capture: kind === 'capture' ? true : undefined,
    refund: kind === 'refund' ? true : undefined,
    void: kind === 'void' ? true : undefined,
    dispute: disputeOf(entry),
    created: new Date(entry.created).toISOString(),
    amount,
    balance,
    fee: { flat: feeFlat, rate: feeRate },
    descriptor,
    reference: entry.reference ?? undefined,
    lineId: entry.lineId ?? undefined,
    exchange: rate === null || rateDate === null ? undefined : { rate, date: rateDate },
  }
}

function disputeOf({ kind, disputeId }: TrailEntry) {
  if (disputeId === null) return undefined
  return kind === 'disputeWon' ? ({ id: disputeId, won: true } as const) : ({ id: disputeId, lost: true } as const)
}
