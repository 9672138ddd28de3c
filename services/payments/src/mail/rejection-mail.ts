import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import type { Rejection } from '../acquirers/operation-repository.ts'
import { formatMoney } from '../money/minor-units.ts'

/** The job of a mail that tells a merchant of a rejected operation. The job that sends it reads the operation. */
export interface RejectionMailJob {
  readonly merchantId: string
  /** The id of the trail entry. */
  readonly operationId: string
}

/** Tells a merchant that an acquirer has rejected an operation. */
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
