import { randomUUID } from 'node:crypto'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { defineSealedTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { z } from 'zod'
import type { Db } from '../database.ts'
import { MAIL_KINDS } from './default-templates.ts'
import type { HookedMail } from './message-hooks.ts'
import { describeMail } from './message-record.ts'
import { insertMessage } from './message-repository.ts'

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
  const job = { messageId: randomUUID(), ...mail }
  await insertMessage(trx, describeMail(job))
  await jobs.send(trx, mailTask, job)
}
