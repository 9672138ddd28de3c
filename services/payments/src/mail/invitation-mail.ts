import { html } from '@trestle/common/documents/html.ts'
import { defineEncryptedTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { z } from 'zod'

const InvitationMailJob = z.object({ token: z.string().describe('The secret part of the link') })

/** The job of an invitation mail. The job that sends it reads who is invited, by whom and where to. */
export type InvitationMailJob = Readonly<z.output<typeof InvitationMailJob>>

/** Sends an invitation. Its payload is encrypted, because its token admits any reader. */
export const invitationMailTask = defineEncryptedTask('invitation_mail', (json) => InvitationMailJob.parse(json), {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 90,
})

export interface InvitationMail {
  readonly subject: string
  readonly text: string
  readonly html: string
}

/**
 * The text of an invitation mail, the same for everybody except for the link. Anybody can make an app and a merchant
 * and invite a stranger, so the mail contains no name that a client chose. The page behind the link shows the names.
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
