import { createHash } from 'node:crypto'
import { isRefusedRecipient } from '@trestle/common/outbound/smtp.ts'
import { lowerAToZ } from '@trestle/common/server/lower-a-to-z.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Pools } from '@trestle/database/pools.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { DeadLetterJob } from '@trestle/jobs/task.ts'
import type { PaymentsConfig } from '../config.ts'
import { countMails, type Mailer, RECIPIENT_REFUSED, smtpReason } from '../mail/mailer.ts'
import { type InvitationMailJob, invitationMail, invitationMailTask } from '../mail/mails.ts'
import { hashToken } from '../members/invitation.ts'
import { findInvitation } from '../members/invitation-repository.ts'
import { type RateLimits, takeEvent } from '../rate-limits/rate-limits.ts'

type SendDeps = {
  readonly pools: Pools
  readonly rateLimits: RateLimits
  readonly logger: ServiceLogger['logger']
  readonly meter: Metrics['meter']
} & {
  readonly config: { readonly server: Pick<PaymentsConfig['server'], 'baseUrl'> }
  readonly jobs: Pick<Jobs, 'work'>
}

/**
 * Sends one mail, unless the invitation was revoked, used or has expired. If the address has had too many mails, the mail waits.
 * Otherwise a stranger could use up the limit of an address and suppress the invitations of other merchants. A second run sends
 * the same link again and counts another mail.
 */
async function sendInvitation(
  { config, pools, rateLimits, logger, mailer }: SendDeps & { readonly mailer: Mailer },
  { token }: InvitationMailJob,
  attempt: number,
): Promise<'sent' | 'dropped' | 'delayed'> {
  const invitation = await findInvitation(pools, hashToken(token))
  if (invitation?.state !== 'open') return 'dropped'
  const to = invitation.email
  const taken = await takeEvent(rateLimits.mails, digestOf(to))
  if (typeof taken === 'number') {
    logger.warn({ attempt }, 'an address has had too many invitations: a mail was not sent')
    return attempt > invitationMailTask.retryLimit ? 'dropped' : 'delayed'
  }
  try {
    await mailer.send({ to, ...invitationMail(`${config.server.baseUrl}/invitations/${token}`) })
  } catch (error) {
    await taken.giveBack()
    throw error
  }
  return 'sent'
}

/** Returns a digest of the address that ignores the case of A to Z. */
function digestOf(email: string): string {
  return createHash('sha256').update(lowerAToZ(email)).digest('base64url')
}

/** Starts the worker of invitation mails. Without a mail server, the mails wait in the queue. */
export async function startInvitationMails(deps: SendDeps, mailer: Mailer): Promise<void> {
  const mails = countMails(deps.meter)
  await deps.jobs.work(invitationMailTask, async (job, { attempt }) => {
    const outcome = await sendInvitation({ ...deps, mailer }, job, attempt).catch((error: unknown) => {
      // Log no message of the error, because it may contain the address.
      deps.logger.warn({ attempt, ...smtpReason(error) }, 'invitation mail not sent')
      return isRefusedRecipient(error) ? ('refused' as const) : ('failed' as const)
    })
    mails.add(1, { outcome: outcome === 'refused' ? 'failed' : outcome })
    if (outcome === 'refused') throw new DeadLetterJob(RECIPIENT_REFUSED)
    if (outcome === 'failed') throw new Error('the mail server did not take the mail')
    if (outcome === 'delayed') throw new Error('the address has had too many invitations')
    return outcome === 'sent' ? 'done' : 'dropped'
  })
}
