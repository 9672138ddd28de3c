import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'

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

/**
 * The text of the mail. It is the same for everybody but for the link: anybody can make an app and a merchant and invite a
 * stranger, so that no name that somebody chose may travel under the operator's sender. The page behind the link names them.
 */
export function invitationMail(link: string): { subject: string; text: string } {
  return {
    subject: 'You are invited to look after a merchant',
    text: `Hello,

you are invited to look after a merchant at ${new URL(link).host}.

Open this page to see who invites you, and to accept:

${link}

The invitation can be accepted once, within 14 days. If you did not expect it, do nothing.
`,
  }
}
