import { createHash } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { Outcome } from '@trestle/jobs/jobs.ts'
import type { PaymentsDeps } from '../deps.ts'
import { countMails, type Mailer, smtpReason } from '../mail/mailer.ts'
import { hashToken } from './invitation.ts'
import { type InvitationMailJob, invitationMail, invitationMailTask } from './invitation-mail.ts'
import { findInvitation } from './invitation-repository.ts'

type SendDeps = Pick<PaymentsDeps, 'lanes' | 'jobs' | 'limits' | 'logger' | 'meter' | 'baseUrl'>

/** Takes the mails of invitations from the queue. Without a mail server nobody takes them, and they wait. */
export async function workOnInvitationMails(deps: SendDeps, mailer: Mailer): Promise<void> {
  const mails = countMails(deps.meter)
  await deps.jobs.work(invitationMailTask, async (job, { attempt }) => {
    try {
      const outcome = await sendInvitation(deps, mailer, { ...job, attempt })
      mails.add(1, { outcome: outcome === 'done' ? 'sent' : 'dropped' })
      return outcome
    } catch (error) {
      mails.add(1, { outcome: 'failed' })
      // Without the error's own words, which may name the address.
      deps.logger.warn({ attempt, ...smtpReason(error) }, 'invitation mail not sent')
      throw new Error('the mail server did not take the mail')
    }
  })
}

/** Sends one mail, unless the invitation was revoked, used or expired meanwhile, or its address has had too many. */
async function sendInvitation(
  { lanes, limits, logger, baseUrl }: SendDeps,
  mailer: Mailer,
  { token, attempt }: InvitationMailJob & { readonly attempt: number },
): Promise<Outcome> {
  const invitation = await findInvitation(lanes, hashToken(token))
  if (invitation?.state !== 'open') return 'dropped'
  const to = recipientOf(invitation.email)
  // A mail that is tried again was counted.
  if (attempt === 1 && (await limits.mails.consume(digestOf(to))) !== undefined) {
    logger.warn('an address has had too many invitations: a mail was not sent')
    return 'dropped'
  }
  const link = `${baseUrl}/invitations/${token}`
  await mailer.send({ to, ...invitationMail(link) })
  return 'done'
}

/** The address as the mail server gets it: a domain has many spellings in Unicode, and one in ASCII. */
function recipientOf(email: string): string {
  const [local, domain = ''] = email.split('@')
  return `${local}@${domainToASCII(domain) || domain}`
}

/** The same for an address in whatever case. */
function digestOf(email: string): string {
  return createHash('sha256').update(email.toLowerCase()).digest('base64url')
}
