import { randomUUID } from 'node:crypto'
import { Hopeless, type Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import type { Kysely } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { sendMailByHook } from '../hooks/message-hooks.ts'
import { logUndelivered } from './undelivered.ts'
import { isHeld } from '../users/user-repository.ts'
import type { Mail } from './mailer.ts'

/** A mail in the queue. Sealed there, since it carries links and codes. */
export interface MailJob extends Mail {
  /** RFC 3339; from then on the mail's link and code are dead. Null for notices. */
  readonly expiresAt: string | null
  /** Whose mail it is. */
  readonly userId: string
  /** Drops the mail where a user has the address by now: the request that asked for it must not tell. */
  readonly onlyIfFree?: true
}

/**
 * Mails outlive an outage of the server of more than a day. An attempt ends by itself, by the mailer's bounds on each step of
 * the conversation: were it given up earlier, its mail might still go out beside that of the next.
 */
export const mailTask = defineTask<MailJob>('mail', { ...RETRY_FOR_A_DAY, timeoutSeconds: 700, sealed: true })

/** Sends a mail after the transaction of its cause has been committed. @param mail without an id gets one */
export async function queueMail(
  trx: Kysely<AuthDatabase>,
  { jobs }: Pick<AuthDeps, 'jobs'>,
  mail: Omit<MailJob, 'messageId'> & { readonly messageId?: string },
): Promise<void> {
  await jobs.send(trx, mailTask, { messageId: randomUUID(), ...mail })
}

/** Takes mails from the queue, and tells the log what the server, or the hook in its place, does not take. */
export async function workOnMails(
  deps: Pick<AuthDeps, 'db' | 'hooks' | 'jobs' | 'logger' | 'mailer' | 'now'>,
): Promise<void> {
  const send: SendMail = deps.hooks.isOn('SEND_EMAIL') ? (job) => sendMailByHook(deps, job) : deps.mailer.send
  await deps.jobs.work(mailTask, async (job, { attempt }) => {
    try {
      if (job.onlyIfFree && (await isHeld(deps.db, { kind: 'email', value: job.to }))) return 'dropped'
      return await sendQueuedMail({ ...deps, send }, job)
    } catch (error) {
      logUndelivered(deps.logger, mailTask, error, { attempt, kind: job.kind, message_id: job.messageId })
      throw error
    }
  })
}

/** @returns false for a mail that nobody is to send @throws when it could not be sent */
type SendMail = (job: MailJob, now: Date) => Promise<boolean>

/**
 * Does the job: a mail for which there is no server is dropped and counted.
 * @throws Hopeless for one whose link has died meanwhile
 */
export async function sendQueuedMail(
  { logger, send, now }: Pick<AuthDeps, 'logger' | 'now'> & { readonly send: SendMail },
  job: MailJob,
): Promise<Outcome> {
  const at = now()
  if (job.expiresAt !== null && Date.parse(job.expiresAt) <= at.getTime()) throw new Hopeless('its link has expired')
  if (!(await send(job, at))) return 'dropped'
  logger.info({ kind: job.kind, message_id: job.messageId }, 'mail sent')
  return 'done'
}
