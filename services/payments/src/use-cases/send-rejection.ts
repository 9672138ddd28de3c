import { createHash } from 'node:crypto'
import { isRefusedRecipient } from '@trestle/common/outbound/smtp.ts'
import { lowerAToZ } from '@trestle/common/server/lower-a-to-z.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Pools } from '@trestle/database/pools.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { DeadLetterJob } from '@trestle/jobs/task.ts'
import { findRejection } from '../acquirers/operation-repository.ts'
import { findExcessDispute } from '../disputes/dispute-repository.ts'
import { countMails, type Mailer, RECIPIENT_REFUSED, smtpReason } from '../mail/mailer.ts'
import { excessMail, type RejectionMailJob, rejectionMail, rejectionMailTask } from '../mail/mails.ts'
import type { RateLimits } from '../rate-limits/rate-limits.ts'

type RejectionMailDeps = {
  readonly pools: Pools
  readonly jobs: Jobs
  readonly rateLimits: RateLimits
  readonly logger: ServiceLogger['logger']
  readonly meter: Metrics['meter']
}

/**
 * Sends one mail about a rejection or about the excess of a dispute. Sends none if the acquirer has accepted the operation after
 * all. An address gets a limited number of mails per hour, because an acquirer that rejects everything must not fill a mailbox.
 * Events report the other rejections. A second run sends the mail again, because nothing stores that it was sent, but does not
 * count it again.
 */
async function sendRejection(
  {
    pools,
    rateLimits,
    logger,
    mailer,
  }: Pick<RejectionMailDeps, 'pools' | 'rateLimits' | 'logger'> & { readonly mailer: Mailer },
  job: RejectionMailJob,
  attempt: number,
): Promise<Outcome> {
  const { merchantId } = job
  const mail = await findMail(pools, job)
  if (!mail) return 'dropped'
  const address = createHash('sha256').update(lowerAToZ(mail.to)).digest('base64url')
  // Count only the first attempt, because attempts with a slow mail server must not use up the limit of the address.
  if (attempt === 1 && (await rateLimits.mails.consume(`rejection ${address}`)) !== undefined) {
    logger.warn({ merchant_id: merchantId }, 'a merchant has had too many mails about rejections: one was not sent')
    return 'dropped'
  }
  await mailer.send(mail)
  return 'done'
}

async function findMail(pools: RejectionMailDeps['pools'], job: RejectionMailJob) {
  const { merchantId } = job
  if (job.disputeId !== undefined) {
    const dispute = await findExcessDispute(pools, { merchantId, disputeId: job.disputeId })
    return dispute && { to: dispute.email, ...excessMail(dispute) }
  }
  const rejection = await findRejection(pools, { merchantId, id: job.operationId })
  return rejection && { to: rejection.email, ...rejectionMail(rejection) }
}

/** Starts the worker of mails about rejections. Without a mail server, the mails wait in the queue. */
export async function startRejectionMails(deps: RejectionMailDeps, mailer: Mailer): Promise<void> {
  const mails = countMails(deps.meter)
  await deps.jobs.work(rejectionMailTask, async (job, { attempt }) => {
    try {
      const outcome = await sendRejection({ ...deps, mailer }, job, attempt)
      mails.add(1, { outcome: outcome === 'done' ? 'sent' : 'dropped' })
      return outcome
    } catch (error) {
      mails.add(1, { outcome: 'failed' })
      // Log no message of the error, because it may contain the address.
      deps.logger.warn({ attempt, ...smtpReason(error) }, 'mail about a rejection not sent')
      if (isRefusedRecipient(error)) throw new DeadLetterJob(RECIPIENT_REFUSED)
      throw new Error('the mail server did not take the mail')
    }
  })
}
