import { html } from '@trestle/common/documents/html.ts'
import { defineEncryptedTask, defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { z } from 'zod'
import type { Rejection } from '../acquirers/operation-repository.ts'
import type { ExcessDispute } from '../disputes/dispute-repository.ts'
import { formatMoney } from '../money/minor-units.ts'

/**
 * The job of a mail about a rejected operation, or about a dispute of more than the captured amount. The job reads the operation
 * or the dispute when it runs.
 */
export type RejectionMailJob = { readonly merchantId: string } & (
  | {
      /** The id of the trail entry. */
      readonly operationId: string
      readonly disputeId?: undefined
    }
  | { readonly disputeId: string }
)

/** Tells a merchant that an acquirer has rejected an operation, or that a dispute exceeds the captured amount. */
export const rejectionMailTask = defineTask<RejectionMailJob>('rejection_mail', {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 90,
})

const TAKEN_BACK = {
  capture: 'The amount is pending again. You can capture it once more, or void it.',
  refund: 'The customer has not received the money. You can refund it once more.',
  void: 'The amount is pending again. You can void it once more.',
} as const

/** Returns the mail about a rejected operation. It contains amounts and ids, but no text from an acquirer or a client. */
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

/** Returns the mail about a dispute of more than the captured amount. It contains only amounts and ids. */
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

const InvitationMailJob = z.object({ token: z.string().describe('The secret part of the link') })

/** The job of an invitation mail. */
export type InvitationMailJob = Readonly<z.output<typeof InvitationMailJob>>

/** Sends an invitation. The payload is encrypted, because anybody who reads its token can accept the invitation. */
export const invitationMailTask = defineEncryptedTask('invitation_mail', (json) => InvitationMailJob.parse(json), {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 90,
})

interface InvitationMail {
  readonly subject: string
  readonly text: string
  readonly html: string
}

/**
 * Returns an invitation mail. Only the link differs between mails. Anybody can create an app and a merchant and invite a
 * stranger, so the mail contains no name that a client chose. The page behind the link shows the names.
 */
export function invitationMail(link: string): InvitationMail {
  const { host } = new URL(link)
  return {
    subject: 'You are invited to look after a merchant',
    text: `Hello,

you are invited to look after a merchant at ${host}.

Open this page to see who invites you, and to accept:

${link}

The invitation can be accepted once, within 14 days. If you did not expect it, do nothing.
`,
    html: html`<h2>You are invited to look after a merchant</h2>
<p>The merchant is at ${host}. Open the invitation to see who invites you, and to accept.</p>
<p><a href="${link}">See the invitation</a></p>
<p>It can be accepted once, within 14 days. If you did not expect it, do nothing.</p>
`.html,
  }
}
