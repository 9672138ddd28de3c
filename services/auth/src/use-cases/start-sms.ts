import { DeadJob } from '@trestle/jobs/dead-job.ts'
import type { MessageRequestDeps } from '../message-requests/request-message.ts'
import { type DeliverSmsDeps, deliverSms } from '../messages/deliver-sms.ts'
import { smsTask } from '../messages/sms-job.ts'

/** Starts to send the SMS of the queue. An SMS that is never sent is given back to the limit of all clients. */
export async function startSms(deps: DeliverSmsDeps & Pick<MessageRequestDeps, 'jobs' | 'rateLimits'>): Promise<void> {
  await deps.jobs.work(smsTask, async (job, { attempt }) => {
    try {
      const outcome = await deliverSms(deps, job, { attempt })
      if (outcome === 'dropped') await deps.rateLimits.sms.giveBack()
      return outcome
    } catch (error) {
      if (error instanceof DeadJob) await deps.rateLimits.sms.giveBack()
      throw error
    }
  })
}
