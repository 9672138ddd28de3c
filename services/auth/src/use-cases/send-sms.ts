import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { AuthDeps } from '../deps.ts'
import { type DeliverSmsDeps, deliverSms } from '../messages/deliver-sms.ts'
import { type SmsJob, smsTask } from '../messages/sms-job.ts'
import { logUndelivered } from '../messages/undelivered.ts'

/**
 * Sends an SMS of the queue, and logs what the gateway or the hook SEND_SMS does not take.
 * @param attempt 1 for the first
 * @throws what `deliverSms` throws
 */
async function sendSms(deps: DeliverSmsDeps, job: SmsJob, attempt: number): Promise<Outcome> {
  try {
    return await deliverSms(deps, job)
  } catch (error) {
    logUndelivered(deps.logger, smsTask, error, { attempt, message_id: job.messageId })
    throw error
  }
}

/** Starts to send the SMS of the queue. */
export async function startSms(deps: DeliverSmsDeps & Pick<AuthDeps, 'jobs'>): Promise<void> {
  await deps.jobs.work(smsTask, (job, { attempt }) => sendSms(deps, job, attempt))
}
