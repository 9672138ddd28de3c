import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import { DeadJob } from '@trestle/jobs/dead-job.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { smsSendFailed } from '../errors.ts'
import { isIdentifierKept } from '../users/user-repository.ts'
import { attemptDelivery, type DeliveryAttempt, type DropReason } from './attempt-delivery.ts'
import { type MessageHookDeps, sendSmsByHook } from './message-hooks.ts'
import { type SmsGateway, SmsRefused } from './sms-gateway.ts'
import { type HeldSms, type SmsJob, smsTask } from './sms-job.ts'

/** How long a request waits for the gateway. */
const PATIENCE_MS = 2_000

/** The hook SEND_SMS and the gateway, one of which sends an SMS, with the log and the clock. */
export interface DeliverSmsDeps extends MessageHookDeps {
  readonly logger: ServiceLogger['logger']
  readonly now: () => Date
  /** Undefined where no gateway is set. */
  readonly sms: SmsGateway | undefined
}

/**
 * Sends an SMS of the queue, by the hook SEND_SMS or by the gateway. Drops and counts it where no gateway is
 * set. Logs what gateway or hook do not take, and records the outcome for operators.
 * @throws DeadJob when the code of the SMS has expired, SmsRefused, and Error when it could not be sent
 */
export function deliverSms(
  deps: DeliverSmsDeps,
  job: SmsJob,
  delivery: Pick<DeliveryAttempt, 'attempt' | 'endsMessage'>,
): Promise<Outcome> {
  return attemptDelivery(deps, { ...delivery, task: smsTask, messageId: job.messageId }, async () => {
    const { db, hooks, now } = deps
    if (Date.parse(job.expiresAt) <= now().getTime()) throw new DeadJob('its code has expired')
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
 * Sends a held SMS, and waits for two seconds at most (reference: POST /otp). A refusal of the gateway within that time ends
 * the job. Everything else continues without the request, and the queue tries again where the gateway is away.
 * @throws smsSendFailed
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

/**
 * Sends an SMS by the gateway, once, in the request that asks for it.
 * @throws smsSendFailed when the gateway refuses the SMS or is away
 */
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
