import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { type AnyTask, DeadLetterJob, defineEncryptedTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { z } from 'zod'
import type { Db, Trx } from '../database.ts'
import { smsSendFailed } from '../errors.ts'
import { isIdentifierKept } from '../users/user-repository.ts'
import { type MessageHookDeps, sendSmsByHook } from './mail-job.ts'
import { describeSms, SMS_PURPOSES, type SmsPurpose } from './message-record.ts'
import { insertMessage, type MessageOutcome, updateMessages } from './message-repository.ts'
import { SMS_CHANNELS, type Sms, type SmsGateway, SmsRefused } from './sms-gateway.ts'

/** An SMS in the queue. Its job is encrypted, because it carries a code. */
export interface SmsJob extends Sms {
  /** Our own id of the message, for answers and the log. */
  readonly messageId: string
  /** RFC 3339. The code is dead from then on. */
  readonly expiresAt: string
  readonly userId: string
  readonly purpose: SmsPurpose
  /** Drops the SMS if a user has the number meanwhile. The request that asked for the SMS must not reveal that. */
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
export const smsTask = defineEncryptedTask('sms', (json): SmsJob => StoredSms.parse(json), {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 15,
})

/** Longer than an attempt may take, so that no worker sends the SMS while the request is still sending it. */
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

/** How long a request waits for the gateway. */
const PATIENCE_MS = 2_000

export interface DeliverSmsDeps extends MessageHookDeps {
  readonly logger: ServiceLogger['logger']
  readonly now: () => Date
  /** Undefined where no gateway is set. */
  readonly sms: SmsGateway | undefined
}

/**
 * Sends an SMS of the queue, by the hook SEND_SMS or by the gateway. Drops and counts it where no gateway is set. Logs a refusal
 * by the gateway or the hook, and records the outcome for operators.
 * @throws DeadLetterJob when the code of the SMS has expired, SmsRefused, and Error when it could not be sent
 */
export function deliverSms(
  deps: DeliverSmsDeps,
  job: SmsJob,
  delivery: Pick<DeliveryAttempt, 'attempt' | 'endsMessage'>,
): Promise<Outcome> {
  return attemptDelivery(deps, { ...delivery, task: smsTask, messageId: job.messageId }, async () => {
    const { db, hooks, now } = deps
    if (Date.parse(job.expiresAt) <= now().getTime()) throw new DeadLetterJob('its code has expired')
    const isTaken = job.onlyIfFree && (await isIdentifierKept(db, { kind: 'phone', value: job.to }))
    if (isTaken) return 'a user has the address already'
    if (hooks.isOn('SEND_SMS')) return (await sendSmsByHook(deps, job)) ? undefined : 'the user is gone'
    return sendByGateway(deps, job)
  })
}

async function sendByGateway(
  { logger, sms }: Pick<DeliverSmsDeps, 'logger' | 'sms'>,
  job: SmsJob,
): Promise<DropReason | undefined> {
  if (!sms) {
    logger.warn({ message_id: job.messageId }, 'SMS dropped: no gateway is set')
    return 'no SMS gateway is set'
  }
  const gatewayId = await sms.send(job)
  logger.info({ message_id: job.messageId, gateway_id: gatewayId }, 'SMS sent')
  return undefined
}

/**
 * Sends a held SMS, and waits for two seconds at most (reference: POST /otp). A refusal of the gateway within that time ends the
 * job. After that, the queue continues without the request, and tries again if the gateway is unreachable.
 */
export async function sendHeldSms(
  deps: DeliverSmsDeps & { readonly jobs: Jobs },
  { jobId, job }: HeldSms,
): Promise<void> {
  const result = Promise.withResolvers<SmsRefused | 'under-way'>()
  let isAwaited = true
  const timer = setTimeout(() => result.resolve('under-way'), PATIENCE_MS)
  const isToldToClient = (error: unknown) => isAwaited && error instanceof SmsRefused
  const attempt = deps.jobs.run(smsTask, jobId, async () => {
    try {
      return await deliverSms(deps, job, { attempt: 1, endsMessage: isToldToClient })
    } catch (error) {
      if (!isAwaited || !(error instanceof SmsRefused)) throw error
      result.resolve(error)
      return 'dropped'
    }
  })
  // A failure is not thrown here: the queue logs it, and runs the job again.
  attempt.catch(() => {}).finally(() => result.resolve('under-way'))
  const outcome = await result.promise
  isAwaited = false
  clearTimeout(timer)
  if (outcome === 'under-way') return
  throw describeFailure(outcome)
}

/** Sends an SMS by the gateway, once, in the request that asks for it. */
export async function sendSmsInRequest(deps: Pick<DeliverSmsDeps, 'logger' | 'sms'>, job: SmsJob): Promise<void> {
  try {
    await sendByGateway(deps, job)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    deps.logger.warn({ message_id: job.messageId, reason }, 'SMS not sent')
    throw describeFailure(cause)
  }
}

/** The error of a request whose SMS was not taken. Only a refusal has words for the client. */
function describeFailure(cause: unknown): HttpError {
  return smsSendFailed({ reason: cause instanceof SmsRefused ? cause.reason : 'the gateway does not work' }, { cause })
}

/** Why a message is not sent, although nothing has failed. Operators read it. */
export type DropReason =
  | 'no mail server is set'
  | 'no SMS gateway is set'
  | 'a user has the address already'
  | 'the user is gone'

interface DeliveryAttempt {
  readonly task: AnyTask
  readonly messageId: string
  /** 1 for the first. */
  readonly attempt: number
  /** Further members of the log line. */
  readonly line?: object
  /** Whether an error ends the message, beside the errors that end its job. */
  readonly endsMessage?: (error: unknown) => boolean
}

/**
 * Sends a message, logs that it was not taken, and records the outcome for operators. Mailer and gateways write the reason in
 * their own words, because the words of a server may name the address.
 * @param send returns why the message is dropped; undefined once it is taken
 */
export async function attemptDelivery(
  deps: { readonly db: Db; readonly logger: ServiceLogger['logger'] },
  { task, messageId, attempt, line = {}, endsMessage = () => false }: DeliveryAttempt,
  send: () => Promise<DropReason | undefined>,
): Promise<Outcome> {
  // The outcome of the message does not depend on its record. A failure here would have the job send the message again.
  const recordOutcome = (outcome: MessageOutcome) =>
    updateMessages(deps.db, [messageId], outcome).catch((err) =>
      deps.logger.warn({ err, message_id: messageId }, 'the outcome of a message is not noted'),
    )
  try {
    const dropped = await send()
    await recordOutcome({ status: dropped === undefined ? 'sent' : 'failed', attempt, error: dropped })
    return dropped === undefined ? 'done' : 'dropped'
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const isOver = error instanceof DeadLetterJob || attempt > task.retryLimit
    const entry = { ...line, message_id: messageId, attempt, reason }
    if (isOver) deps.logger.error(entry, `${task.name} given up`)
    else deps.logger.warn(entry, `${task.name} not sent, will be tried again`)
    await recordOutcome({ status: isOver || endsMessage(error) ? 'failed' : 'waiting', attempt, error: reason })
    throw error
  }
}
