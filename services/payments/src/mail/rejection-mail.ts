import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import type { Rejection } from '../acquirers/operation-repository.ts'
import { formatMoney } from '../money/minor-units.ts'

/** Tells a merchant that an operation was rejected. What it was is read when the mail is sent. */
export interface RejectionMailJob {
  readonly merchantId: string
  /** The trail entry. */
  readonly operationId: string
}

export const rejectionMailTask = defineTask<RejectionMailJob>('rejection_mail', {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 90,
  sealed: false,
})

const TAKEN_BACK = {
  capture: 'The amount is pending again. You can capture it once more, or void it.',
  refund: 'The customer has not received the money. You can refund it once more.',
  void: 'The amount is pending again. You can void it once more.',
} as const

/** The text of the mail: amounts and ids alone, nothing that an acquirer or anybody else has worded. */
export function rejectionMail(rejection: Rejection): { readonly subject: string; readonly text: string } {
  const { kind, status, transactionId, merchantId, amount, currency, balance, merchantCurrency } = rejection
  const cause = status === 'rejected' ? 'has rejected' : 'has not confirmed'
  return {
    subject: `The acquirer ${cause} a ${kind}`,
    text: `Hello,

The acquirer ${cause} a ${kind} of ${formatMoney(currency, amount)}.

Transaction: ${transactionId}
Merchant: ${merchantId}
Change of your balance: ${formatMoney(merchantCurrency, balance)}

${TAKEN_BACK[kind]} The trail of the transaction shows the correction as a ${kind} of a negative amount.
`,
  }
}
