import { randomUUID } from 'node:crypto'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { Hopeless, type Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { defineSealedTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { z } from 'zod'
import type { Db } from '../database.ts'
import { isIdentifierTaken } from '../users/user-repository.ts'
import { MAIL_KINDS } from './default-templates.ts'
import type { Mailer } from './mailer.ts'
import { type HookedMail, type MessageHookDeps, sendMailByHook } from './message-hooks.ts'
import { logUndelivered } from './undelivered.ts'

/** A mail in the queue. Its job is sealed, because it carries links and codes. */
export interface MailJob extends HookedMail {
  /** RFC 3339. The mail's link and code are dead from then on. Null for notifications. */
  readonly expiresAt: string | null
  /** Drops the mail where a user has the address by then. The request that asked for the mail must not reveal that. */
  readonly onlyIfFree?: true
}

const StoredMail = z.object({
  kind: z.enum(MAIL_KINDS),
  to: z.string(),
  messageId: z.string(),
  variables: z.record(z.string(), z.unknown()),
  userId: z.string(),
  linkBase: z.string().exactOptional(),
  expiresAt: z.string().nullable(),
  onlyIfFree: z.literal(true).exactOptional(),
})

/**
 * The task outlives an outage of the mail server of more than a day. The mailer bounds each step of the SMTP conversation, so
 * an attempt ends by itself before this timeout. A shorter timeout could give an attempt up whose mail still goes out, beside
 * the mail of the next attempt.
 */
export const mailTask = defineSealedTask('mail', (json): MailJob => StoredMail.parse(json), {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 700,
})

/** Queues a mail, to be sent after the transaction has been committed. @param mail without an id gets one */
export async function queueMail(
  trx: Db,
  { jobs }: { readonly jobs: Jobs },
  mail: Omit<MailJob, 'messageId'> & { readonly messageId?: string },
): Promise<void> {
  await jobs.send(trx, mailTask, { messageId: randomUUID(), ...mail })
}

/** What sending queued mails works with. Where the hook SEND_EMAIL is on, `mailer` is not used. */
export interface MailWorkDeps extends MessageHookDeps {
  readonly jobs: Jobs
  readonly logger: ServiceLogger['logger']
  readonly mailer: Pick<Mailer, 'send'>
  readonly now: () => Date
}

/** Starts to send queued mails, by SMTP or by the hook SEND_EMAIL. Logs what the server or the hook does not take. */
export async function startMails(deps: MailWorkDeps): Promise<void> {
  const send: SendMail = deps.hooks.isOn('SEND_EMAIL') ? (job) => sendMailByHook(deps, job) : deps.mailer.send
  await deps.jobs.work(mailTask, async (job, { attempt }) => {
    try {
      if (job.onlyIfFree && (await isIdentifierTaken(deps.db, { kind: 'email', value: job.to }))) return 'dropped'
      return await sendQueuedMail({ ...deps, send }, job)
    } catch (error) {
      logUndelivered(deps.logger, mailTask, error, { attempt, kind: job.kind, message_id: job.messageId })
      throw error
    }
  })
}

/** @returns false for a mail that nobody is to send @throws Error when it could not be sent */
type SendMail = (job: MailJob, now: Date) => Promise<boolean>

/**
 * Sends a queued mail. Drops and counts it where no mail server is set.
 * @throws Hopeless when the link of the mail has expired
 */
export async function sendQueuedMail(
  { logger, send, now }: Pick<MailWorkDeps, 'logger' | 'now'> & { readonly send: SendMail },
  job: MailJob,
): Promise<Outcome> {
  const at = now()
  if (job.expiresAt !== null && Date.parse(job.expiresAt) <= at.getTime()) throw new Hopeless('its link has expired')
  if (!(await send(job, at))) return 'dropped'
  logger.info({ kind: job.kind, message_id: job.messageId }, 'mail sent')
  return 'done'
}
