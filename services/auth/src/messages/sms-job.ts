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

/** An SMS in the queue. Its job is encrypted, because the SMS contains a code. */
export interface SmsJob extends Sms {
  /** The service's id of the message, for responses and the log. */
  readonly messageId: string
  /** RFC 3339. The code expires at this time. */
  readonly expiresAt: string
  readonly userId: string
  readonly purpose: SmsPurpose
  /** Drops the SMS if a user has the number by then. The request for the SMS must not reveal that. */
  readonly onlyIfFree?: true
}

/**
 * Older processes queue an SMS without `purpose` and say only whether it is for a second factor. Such jobs end within two days
 * after the last of these processes, so the release after 0.1 reads only `purpose`.
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

/** An SMS that the request itself sends. If the request fails to send it, the queue does. */
export interface HeldSms {
  readonly jobId: string
  readonly job: SmsJob
}

/** The gateway has 8 s. The rest is for name resolution and the database. */
export const smsTask = defineEncryptedTask('sms', (json): SmsJob => StoredSms.parse(json), {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 15,
})

/** Longer than an attempt, so that no worker sends the SMS while the request is sending it. */
const HELD_SECONDS = smsTask.timeoutSeconds + 5

/** Queues an SMS, to be sent after the commit. */
export async function queueSms(trx: Trx, { jobs }: { readonly jobs: Jobs }, job: SmsJob): Promise<void> {
  await insertMessage(trx, describeSms(job))
  await jobs.send(trx, smsTask, job)
}

/** Queues an SMS for `sendHeldSms` after the commit. Without that call, the queue sends the SMS a little later. */
export async function holdSms(trx: Trx, { jobs }: { readonly jobs: Jobs }, job: SmsJob): Promise<HeldSms> {
  await insertMessage(trx, describeSms(job))
  return { jobId: await jobs.send(trx, smsTask, job, { startAfterSeconds: HELD_SECONDS }), job }
}

/** How long a request waits for the gateway. */
const PATIENCE_MS = 2_000

export interface DeliverSmsDeps extends MessageHookDeps {
  readonly logger: ServiceLogger['logger']
  readonly now: () => Date
  /** `undefined` if no gateway is set. */
  readonly sms: SmsGateway | undefined
}

/**
 * Sends a queued SMS by the hook SEND_SMS or the gateway. Drops and counts it if no gateway is set. Logs a refusal by the gateway
 * or hook, and records the outcome for operators.
 * @throws DeadLetterJob if the code has expired, SmsRefused, and Error if the SMS could not be sent
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
 * Sends a held SMS, and waits for two seconds at most (reference: POST /otp). If the gateway refuses within that time, the job
 * ends. After that, the job continues without the request, and is tried again if the gateway is unreachable.
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
  // Do not throw here: the queue logs the failure and runs the job again.
  attempt.catch(() => {}).finally(() => result.resolve('under-way'))
  const outcome = await result.promise
  isAwaited = false
  clearTimeout(timer)
  if (outcome === 'under-way') return
  throw describeFailure(outcome)
}

/** Sends an SMS by the gateway in the request, with one attempt. */
export async function sendSmsInRequest(deps: Pick<DeliverSmsDeps, 'logger' | 'sms'>, job: SmsJob): Promise<void> {
  try {
    await sendByGateway(deps, job)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    deps.logger.warn({ message_id: job.messageId, reason }, 'SMS not sent')
    throw describeFailure(cause)
  }
}

/** The error for a request whose SMS was not accepted. Only a refusal has a reason for the client. */
function describeFailure(cause: unknown): HttpError {
  return smsSendFailed({ reason: cause instanceof SmsRefused ? cause.reason : 'the gateway does not work' }, { cause })
}

/** Why a message is dropped without a failure. Shown to operators. */
export type DropReason =
  | 'no mail server is set'
  | 'no SMS gateway is set'
  | 'a user has the address already'
  | 'the user is gone'

interface DeliveryAttempt {
  readonly task: AnyTask
  readonly messageId: string
  /** From 1. */
  readonly attempt: number
  /** Further members of the log line. */
  readonly line?: object
  /** Whether an error ends the message, in addition to errors that end its job. */
  readonly endsMessage?: (error: unknown) => boolean
}

/**
 * Sends a message, logs a failure, and records the outcome for operators. Mailer and gateways state the reason in their own
 * words, because a server's text may contain the address.
 * @param send returns why the message is dropped, or `undefined` once it is accepted
 */
export async function attemptDelivery(
  deps: { readonly db: Db; readonly logger: ServiceLogger['logger'] },
  { task, messageId, attempt, line = {}, endsMessage = () => false }: DeliveryAttempt,
  send: () => Promise<DropReason | undefined>,
): Promise<Outcome> {
  // Do not fail if the record fails: the job would send the message again.
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
