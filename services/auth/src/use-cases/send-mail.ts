import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import { DeadJob } from '@trestle/jobs/dead-job.ts'
import type { AuthConfig } from '../config.ts'
import type { MessageRequestDeps } from '../message-requests/request-message.ts'
import { type MailJob, type MessageHookDeps, mailTask, sendMailByHook } from '../messages/mail-job.ts'
import type { Mailer } from '../messages/mailer.ts'
import { attemptDelivery, type DropReason } from '../messages/sms-job.ts'
import { isIdentifierKept } from '../users/user-repository.ts'

/** The dependencies of a sent mail. Where the hook SEND_EMAIL is on, `mailer` is not used. */
export type SendMailDeps = MessageHookDeps & {
  readonly config: AuthConfig
  readonly logger: ServiceLogger['logger']
  readonly mailer: Mailer
  readonly now: () => Date
}

/**
 * Sends a mail of the queue, by SMTP or by the hook SEND_EMAIL. Drops and counts it where no mail server is
 * set. Logs what the server or the hook does not take, and records the outcome for operators.
 * @param attempt 1 for the first
 * @throws DeadJob when the link of the mail has expired, Error when it could not be sent
 */
export async function sendMail(deps: SendMailDeps, job: MailJob, attempt: number): Promise<Outcome> {
  const { kind, messageId } = job
  return attemptDelivery(deps, { task: mailTask, messageId, attempt, line: { kind } }, async () => {
    const dropped = await deliverMail(deps, job)
    if (dropped === undefined) deps.logger.info({ kind, message_id: messageId }, 'mail sent')
    return dropped
  })
}

/** @returns why nobody is to send the mail; undefined once it is sent @throws DeadJob, Error when it could not be sent */
async function deliverMail(deps: SendMailDeps, job: MailJob): Promise<DropReason | undefined> {
  const at = deps.now()
  if (job.onlyIfFree && (await isIdentifierKept(deps.db, { kind: 'email', value: job.to })))
    return 'a user has the address already'
  if (job.expiresAt !== null && Date.parse(job.expiresAt) <= at.getTime()) throw new DeadJob('its link has expired')
  if (deps.hooks.isOn('SEND_EMAIL')) return (await sendMailByHook(deps, job)) ? undefined : 'the user is gone'
  return (await deps.mailer.send(job, at)) ? undefined : 'no mail server is set'
}

/**
 * Starts to send the mails of the queue. A mail to a wanted address that somebody has by then is not sent, and is given back to
 * the limit of all clients. Other mails that are dropped may be ones that the limit does not count.
 */
export async function startMails(deps: SendMailDeps & Pick<MessageRequestDeps, 'jobs' | 'rateLimits'>): Promise<void> {
  await deps.jobs.work(mailTask, async (job, { attempt }) => {
    const outcome = await sendMail(deps, job, attempt)
    if (outcome === 'dropped' && job.onlyIfFree) await giveBack(deps, job)
    return outcome
  })
}

/** Gives a mail back to the window that has counted it. It was counted when its link began to live. */
async function giveBack(
  { config, now, rateLimits }: SendMailDeps & Pick<MessageRequestDeps, 'rateLimits'>,
  { expiresAt }: Pick<MailJob, 'expiresAt'>,
): Promise<void> {
  const beganMs = expiresAt === null ? undefined : Date.parse(expiresAt) - config.mail.codeLifetimeSeconds * 1_000
  if (beganMs !== undefined) await rateLimits.email.giveBack(now().getTime() - beganMs)
}
