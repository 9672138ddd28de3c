import type { AuthDeps } from '../deps.ts'
import { type DeliverSmsDeps, deliverSms } from '../messages/deliver-sms.ts'
import { smsTask } from '../messages/sms-job.ts'

/** Starts to send the SMS of the queue. */
export async function startSms(deps: DeliverSmsDeps & Pick<AuthDeps, 'jobs'>): Promise<void> {
  await deps.jobs.work(smsTask, (job, { attempt }) => deliverSms(deps, job, { attempt }))
}
