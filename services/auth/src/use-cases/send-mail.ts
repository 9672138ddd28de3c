import type { Outcome } from '@trestle/jobs/attempt.ts'
import { Hopeless } from '@trestle/jobs/hopeless.ts'
import type { AuthDeps } from '../deps.ts'
import { type MailJob, mailTask } from '../messages/mail-job.ts'
import { sendMailByHook } from '../messages/message-hooks.ts'
import { logUndelivered } from '../messages/undelivered.ts'
import { isIdentifierTaken } from '../users/user-repository.ts'

/** What sending mails works with. Where the hook SEND_EMAIL is on, `mailer` is not used. */
export type SendMailDeps = Pick<AuthDeps, 'config' | 'db' | 'hooks' | 'logger' | 'mailer' | 'now'>

/**
 * Sends a mail of the queue, by SMTP or by the hook SEND_EMAIL. Drops and counts it where no mail server is set. Logs what the server
 * or the hook does not take.
 * @param attempt 1 for the first
 * @throws Hopeless when the link of the mail has expired, Error when it could not be sent
 */
export async function sendMail(deps: SendMailDeps, job: MailJob, attempt: number): Promise<Outcome> {
  const { db, logger } = deps
  const { kind, messageId } = job
  try {
    if (job.onlyIfFree && (await isIdentifierTaken(db, { kind: 'email', value: job.to }))) return 'dropped'
    if (!(await deliverMail(deps, job))) return 'dropped'
    logger.info({ kind, message_id: messageId }, 'mail sent')
    return 'done'
  } catch (error) {
    logUndelivered(logger, mailTask, error, { attempt, kind, message_id: messageId })
    throw error
  }
}

/** @returns false for a mail that nobody is to send @throws Hopeless, Error when it could not be sent */
function deliverMail(deps: SendMailDeps, job: MailJob): Promise<boolean> {
  const at = deps.now()
  if (job.expiresAt !== null && Date.parse(job.expiresAt) <= at.getTime()) throw new Hopeless('its link has expired')
  return deps.hooks.isOn('SEND_EMAIL') ? sendMailByHook(deps, job) : deps.mailer.send(job, at)
}

/** Starts to send the mails of the queue. */
export async function startMails(deps: SendMailDeps & Pick<AuthDeps, 'jobs'>): Promise<void> {
  await deps.jobs.work(mailTask, (job, { attempt }) => sendMail(deps, job, attempt))
}
