import type { Jobs } from '@trestle/jobs/jobs.ts'
import { defineSealedTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { z } from 'zod'
import type { Trx } from '../database.ts'
import { SMS_CHANNELS, type Sms } from './gateway-protocol.ts'
import { describeSms, SMS_PURPOSES, type SmsPurpose } from './message-record.ts'
import { insertMessage } from './message-repository.ts'

/** An SMS in the queue. Its job is sealed, because it carries a code. */
export interface SmsJob extends Sms {
  /** Our own id of the message, for answers and the log. */
  readonly messageId: string
  /** RFC 3339. The code is dead from then on. */
  readonly expiresAt: string
  /** The user who gets the SMS. */
  readonly userId: string
  readonly purpose: SmsPurpose
  /** Drops the SMS where a user has the number by then. The request that asked for the SMS must not reveal that. */
  readonly onlyIfFree?: true
}

/**
 * Older processes queue an SMS without its purpose, and say alone whether it is for a second factor. Such
 * jobs are over two days after the last of these processes has ended, so the release after 0.1 reads
 * `purpose` alone.
 */
const StoredSms = z
  .object({
    to: z.string(),
    text: z.string(),
    code: z.string(),
    channel: z.enum(SMS_CHANNELS),
    messageId: z.string(),
    expiresAt: z.string(),
    userId: z.string(),
    purpose: z.enum(SMS_PURPOSES).optional(),
    isForFactor: z.literal(true).optional(),
    onlyIfFree: z.literal(true).exactOptional(),
  })
  .transform(({ isForFactor = false, purpose = isForFactor ? 'second_factor' : 'one_time_code', ...sms }) => ({
    ...sms,
    purpose,
  }))

/** An SMS that the request itself sends. The queue sends it where the request fails to. */
export interface HeldSms {
  readonly jobId: string
  readonly job: SmsJob
}

/** The gateway has 8 s; the rest is for the resolver and the database. */
export const smsTask = defineSealedTask('sms', (json): SmsJob => StoredSms.parse(json), {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 15,
})

/** Longer than an attempt may take, so that no worker sends what the request is still sending. */
const HELD_SECONDS = smsTask.timeoutSeconds + 5

/** Queues an SMS, to be sent after the transaction has been committed. */
export async function queueSms(trx: Trx, { jobs }: { readonly jobs: Jobs }, job: SmsJob): Promise<void> {
  await insertMessage(trx, describeSms(job))
  await jobs.send(trx, smsTask, job)
}

/** Queues an SMS for `sendHeldSms`, to be called after the commit. Without that call the queue sends the SMS a little later. */
export async function holdSms(trx: Trx, { jobs }: { readonly jobs: Jobs }, job: SmsJob): Promise<HeldSms> {
  await insertMessage(trx, describeSms(job))
  return { jobId: await jobs.send(trx, smsTask, job, { startAfterSeconds: HELD_SECONDS }), job }
}
