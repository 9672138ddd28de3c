import { Hopeless, type Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { smsSendFailed } from '../errors.ts'
import { sendSmsByHook } from '../hooks/message-hooks.ts'
import { logUndelivered } from './undelivered.ts'
import { isHeld } from '../users/user-repository.ts'
import type { Sms } from './gateway-protocol.ts'
import { SmsRefused } from './sms-gateway.ts'

/** An SMS in the queue. Sealed there, since it carries a code. */
export interface SmsJob extends Sms {
  /** Our own id of the message: what answers and the log name it by. */
  readonly messageId: string
  /** RFC 3339; from then on the code is dead. */
  readonly expiresAt: string
  /** Whose SMS it is. */
  readonly userId: string
  /** Drops the SMS where a user has the number by now: the request that asked for it must not tell. */
  readonly onlyIfFree?: true
}

/** An SMS that the request which asked for it sends itself; the queue has it for when that fails. */
export interface HeldSms {
  readonly jobId: string
  readonly job: SmsJob
}

/** The gateway has 10 s; the rest is for the resolver and the database. */
export const smsTask = defineTask<SmsJob>('sms', { ...RETRY_FOR_A_DAY, timeoutSeconds: 15, sealed: true })

/** Longer than an attempt may take: no worker sends what the request is still sending. */
const HELD_SECONDS = smsTask.timeoutSeconds + 5
const PATIENCE_MS = 2_000

type SendDeps = Pick<AuthDeps, 'db' | 'hooks' | 'logger' | 'now' | 'sms'>

/** Sends an SMS after the transaction of its cause has been committed. */
export async function queueSms(
  trx: Transaction<AuthDatabase>,
  { jobs }: Pick<AuthDeps, 'jobs'>,
  job: SmsJob,
): Promise<void> {
  await jobs.send(trx, smsTask, job)
}

/** Queues an SMS for `sendHeldSms`, which is to follow the commit. Without it the queue sends the SMS somewhat later. */
export async function holdSms(
  trx: Transaction<AuthDatabase>,
  { jobs }: Pick<AuthDeps, 'jobs'>,
  job: SmsJob,
): Promise<HeldSms> {
  return { jobId: await jobs.send(trx, smsTask, job, { startAfterSeconds: HELD_SECONDS }), job }
}

/**
 * Sends a held SMS and waits two seconds at most (reference: POST /otp). What the gateway refuses by then is over;
 * everything else goes on without the request, also what a gateway that is away has not taken.
 * @throws smsSendFailed
 */
export async function sendHeldSms(deps: SendDeps & Pick<AuthDeps, 'jobs'>, { jobId, job }: HeldSms): Promise<void> {
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
  // What failed is tried again by the queue.
  attempt.catch(() => {}).finally(() => result.resolve('under-way'))
  const known = await result.promise
  isAwaited = false
  clearTimeout(timer)
  if (known === 'under-way') return
  throw smsSendFailed({ message: `${smsSendFailed.message}: ${known.reason}`, cause: known })
}

/** Takes SMS from the queue, and tells the log what the gateway does not take. */
export async function workOnSms(deps: SendDeps & Pick<AuthDeps, 'jobs'>): Promise<void> {
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
 * Does the job: an SMS for which there is no gateway is dropped and counted.
 * @throws Hopeless for one whose code has died meanwhile
 */
async function sendQueuedSms({ db, hooks, logger, now, sms }: SendDeps, job: SmsJob): Promise<Outcome> {
  if (Date.parse(job.expiresAt) <= now().getTime()) throw new Hopeless('its code has expired')
  if (job.onlyIfFree && (await isHeld(db, { kind: 'phone', value: job.to }))) return 'dropped'
  if (hooks.isOn('SEND_SMS')) return (await sendSmsByHook({ db, hooks }, job)) ? 'done' : 'dropped'
  if (!sms) {
    logger.warn({ message_id: job.messageId }, 'SMS dropped: no gateway is set')
    return 'dropped'
  }
  const gatewayId = await sms.send(job)
  logger.info({ message_id: job.messageId, gateway_id: gatewayId }, 'SMS sent')
  return 'done'
}
