import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { Hopeless, type Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { defineSealedTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { z } from 'zod'
import type { Trx } from '../database.ts'
import { smsSendFailed } from '../errors.ts'
import { isIdentifierTaken } from '../users/user-repository.ts'
import { SMS_CHANNELS, type Sms } from './gateway-protocol.ts'
import { type MessageHookDeps, sendSmsByHook } from './message-hooks.ts'
import { type SmsGateway, SmsRefused } from './sms-gateway.ts'
import { logUndelivered } from './undelivered.ts'

/** An SMS in the queue. Its job is sealed, because it carries a code. */
export interface SmsJob extends Sms {
  /** Our own id of the message, for answers and the log. */
  readonly messageId: string
  /** RFC 3339. The code is dead from then on. */
  readonly expiresAt: string
  /** Whose SMS it is. */
  readonly userId: string
  /** It carries the code of a second factor. */
  readonly isForFactor?: true
  /** Drops the SMS where a user has the number by then. The request that asked for the SMS must not reveal that. */
  readonly onlyIfFree?: true
}

const StoredSms = z.object({
  to: z.string(),
  text: z.string(),
  code: z.string(),
  channel: z.enum(SMS_CHANNELS),
  messageId: z.string(),
  expiresAt: z.string(),
  userId: z.string(),
  isForFactor: z.literal(true).exactOptional(),
  onlyIfFree: z.literal(true).exactOptional(),
})

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
const PATIENCE_MS = 2_000

/** What the job works with that sends queued SMS, by the hook SEND_SMS or by the gateway. */
export interface SmsWorkDeps extends MessageHookDeps {
  readonly jobs: Jobs
  readonly logger: ServiceLogger['logger']
  readonly now: () => Date
  /** Undefined where no gateway is set. */
  readonly sms: SmsGateway | undefined
}

/** Queues an SMS, to be sent after the transaction has been committed. */
export async function queueSms(trx: Trx, { jobs }: { readonly jobs: Jobs }, job: SmsJob): Promise<void> {
  await jobs.send(trx, smsTask, job)
}

/** Queues an SMS for `sendHeldSms`, to be called after the commit. Without that call the queue sends the SMS a little later. */
export async function holdSms(trx: Trx, { jobs }: { readonly jobs: Jobs }, job: SmsJob): Promise<HeldSms> {
  return { jobId: await jobs.send(trx, smsTask, job, { startAfterSeconds: HELD_SECONDS }), job }
}

/**
 * Sends a held SMS, and waits for two seconds at most (reference: POST /otp). A refusal of the gateway within that time ends
 * the job. Everything else continues without the request, and the queue tries again where the gateway is away.
 * @throws smsSendFailed
 */
export async function sendHeldSms(deps: SmsWorkDeps, { jobId, job }: HeldSms): Promise<void> {
  const result = Promise.withResolvers<SmsRefused | 'under-way'>()
  let isAwaited = true
  const timer = setTimeout(() => result.resolve('under-way'), PATIENCE_MS)
  const attempt = deps.jobs.run(smsTask, jobId, async () => {
    try {
      return await sendQueuedSms(deps, job)
    } catch (error) {
      logUndelivered(deps.logger, smsTask, error, { attempt: 1, message_id: job.messageId })
      if (!isAwaited || !(error instanceof SmsRefused)) throw error
      result.resolve(error)
      return 'dropped'
    }
  })
  // The queue tries again after a failure.
  attempt.catch(() => {}).finally(() => result.resolve('under-way'))
  const outcome = await result.promise
  isAwaited = false
  clearTimeout(timer)
  if (outcome === 'under-way') return
  throw describeFailure(outcome)
}

/**
 * Sends an SMS by the gateway, once, in the request that asks for it.
 * @throws smsSendFailed when the gateway refuses the SMS or is away
 */
export async function sendSmsInRequest(deps: Pick<SmsWorkDeps, 'logger' | 'sms'>, job: SmsJob): Promise<void> {
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

/** Starts to send queued SMS. Logs what the gateway does not take. */
export async function startSms(deps: SmsWorkDeps): Promise<void> {
  await deps.jobs.work(smsTask, async (job, { attempt }) => {
    try {
      return await sendQueuedSms(deps, job)
    } catch (error) {
      logUndelivered(deps.logger, smsTask, error, { attempt, message_id: job.messageId })
      throw error
    }
  })
}

/**
 * Sends a queued SMS. Drops and counts it where no gateway is set.
 * @throws Hopeless when the code of the SMS has expired
 */
async function sendQueuedSms(deps: SmsWorkDeps, job: SmsJob): Promise<Outcome> {
  const { db, hooks, now } = deps
  if (Date.parse(job.expiresAt) <= now().getTime()) throw new Hopeless('its code has expired')
  if (job.onlyIfFree && (await isIdentifierTaken(db, { kind: 'phone', value: job.to }))) return 'dropped'
  if (hooks.isOn('SEND_SMS')) return (await sendSmsByHook(deps, job)) ? 'done' : 'dropped'
  return sendByGateway(deps, job)
}

async function sendByGateway({ logger, sms }: Pick<SmsWorkDeps, 'logger' | 'sms'>, job: SmsJob): Promise<Outcome> {
  if (!sms) {
    logger.warn({ message_id: job.messageId }, 'SMS dropped: no gateway is set')
    return 'dropped'
  }
  const gatewayId = await sms.send(job)
  logger.info({ message_id: job.messageId, gateway_id: gatewayId }, 'SMS sent')
  return 'done'
}
