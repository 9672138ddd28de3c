import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import type { Rejection } from '../acquirers/operation-repository.ts'
import type { ExcessDispute } from '../disputes/dispute-repository.ts'
import { formatMoney } from '../money/minor-units.ts'

/**
 * The job of a mail that tells a merchant of a rejected operation, or of a dispute of more than was captured. The job that sends
 * it reads the operation or the dispute.
 */
export type RejectionMailJob = { readonly merchantId: string } & (
  | {
      /** The id of the trail entry. */
      readonly operationId: string
      readonly disputeId?: undefined
    }
  | { readonly disputeId: string }
)

/** Tells a merchant that an acquirer has rejected an operation, or that a dispute exceeds the captures. */
export const rejectionMailTask = defineTask<RejectionMailJob>('rejection_mail', {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 90,
})

const TAKEN_BACK = {
  capture: 'The amount is pending again. You can capture it once more, or void it.',
  refund: 'The customer has not received the money. You can refund it once more.',
  void: 'The amount is pending again. You can void it once more.',
} as const

/** The text of the mail. It contains amounts and ids, and no words of an acquirer or a client. */
export function rejectionMail(rejection: Rejection): { readonly subject: string; readonly text: string } {
  const { kind, status, transactionId, merchantId, amount, currency, balance, balanceCurrency } = rejection
  const cause = status === 'rejected' ? 'has rejected' : 'has not confirmed'
  return {
    subject: `The acquirer ${cause} a ${kind}`,
    text: `Hello,

The acquirer ${cause} a ${kind} of ${formatMoney(currency, amount)}.

Transaction: ${transactionId}
Merchant: ${merchantId}
Change of your balance: ${formatMoney(balanceCurrency, balance)}

${TAKEN_BACK[kind]} The trail of the transaction shows the correction as a ${kind} of a negative amount.
`,
  }
}

/** The text of a mail about a dispute of more than was captured. It contains amounts and ids alone. */
export function excessMail(dispute: ExcessDispute): { readonly subject: string; readonly text: string } {
  const { id, transactionId, merchantId, amount, excess, currency, worth, balanceCurrency, due } = dispute
  return {
    subject: 'A dispute of more than was captured',
    text: `Hello,

The bank of a customer disputes ${formatMoney(currency, amount)}: ${formatMoney(currency, excess)} more than was captured and not refunded.

Dispute: ${id}
Transaction: ${transactionId}
Merchant: ${merchantId}
Answer until: ${due.toISOString()}

Payouts hold back ${formatMoney(balanceCurrency, worth)} for the excess, beside the captured money. If the dispute is lost, both are taken from your balance.
`,
  }
}
