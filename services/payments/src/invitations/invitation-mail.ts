import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import type { Invitation } from './invitation.ts'

/** The mail of an invitation. Who is invited, where to and by whom is read when it is sent. */
export interface InvitationMailJob {
  /** Opens the link. */
  readonly token: string
}

export const invitationMailTask = defineTask<InvitationMailJob>('invitation_mail', {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 90,
  sealed: true,
})

/** The text of the mail. The subject is fixed: no name that somebody chose gets into a header. */
export function invitationMail({ merchant, inviter }: Invitation, link: string): { subject: string; text: string } {
  return {
    subject: 'You are invited to look after a merchant',
    text: `Hello,

${oneLine(inviter ?? 'an app')} invites you to look after ${oneLine(merchant)}.

Open this page to read more and to accept:

${link}

The invitation can be accepted once, within 14 days. If you did not expect it, do nothing.
`,
  }
}

/** A name must not bring paragraphs of its own into a mail that this service signs. */
function oneLine(name: string): string {
  return name.replaceAll(/[\s\p{C}]+/gu, ' ').trim()
}
