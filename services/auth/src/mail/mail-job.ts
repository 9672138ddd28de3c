import { randomUUID } from 'node:crypto'
import type { Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { logUndelivered } from '../messages/undelivered.ts'
import type { Mail } from './mailer.ts'

/** A mail in the queue. Sealed there, since it carries links and codes. */
export interface MailJob extends Mail {
  /** RFC 3339; from then on the mail's link and code are dead. Null for notices. */
  readonly expiresAt: string | null
}

/**
 * Mails outlive an outage of the server of more than a day. An attempt ends by itself, by the mailer's bounds on each step of
 * the conversation: were it given up earlier, its mail might still go out beside that of the next.
 */
export const mailTask = defineTask<MailJob>('mail', { ...RETRY_FOR_A_DAY, timeoutSeconds: 240, sealed: true })

/** Sends a mail after the transaction of its cause has been committed. @param mail without an id gets one */
export async function queueMail(
  trx: Kysely<AuthDatabase>,
  { jobs }: Pick<AuthDeps, 'jobs'>,
  mail: Omit<MailJob, 'messageId'> & { readonly messageId?: string },
): Promise<void> {
  await jobs.send(trx, mailTask, { messageId: randomUUID(), ...mail })
}

/** Takes mails from the queue, and tells the log what the server does not take. */
export async function workOnMails(deps: Pick<AuthDeps, 'jobs' | 'logger' | 'mailer' | 'now'>): Promise<void> {
  await deps.jobs.work(mailTask, async (job, { attempt }) => {
    try {
      return await sendQueuedMail(deps, job)
    } catch (error) {
      logUndelivered(deps.logger, mailTask, error, { attempt, kind: job.kind, message_id: job.messageId })
      throw error
    }
  })
}

/** Does the job: a mail whose link has died meanwhile, or for which there is no server, is dropped and counted. */
export async function sendQueuedMail(
  { logger, mailer, now }: Pick<AuthDeps, 'logger' | 'mailer' | 'now'>,
  job: MailJob,
): Promise<Outcome> {
  const at = now()
  if (job.expiresAt !== null && Date.parse(job.expiresAt) <= at.getTime()) return 'dropped'
  if (!(await mailer.send(job, at))) return 'dropped'
  logger.info({ kind: job.kind, message_id: job.messageId }, 'mail sent')
  return 'done'
}
