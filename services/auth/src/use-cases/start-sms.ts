import { DeadJob } from '@trestle/jobs/dead-job.ts'
import type { AuthConfig } from '../config.ts'
import type { MessageRequestDeps } from '../message-requests/request-message.ts'
import { type DeliverSmsDeps, deliverSms, type SmsJob, smsTask } from '../messages/sms-job.ts'

type StartSmsDeps = DeliverSmsDeps & Pick<MessageRequestDeps, 'rateLimits'> & { readonly config: AuthConfig }

/** Starts to send the SMS of the queue. An SMS that is never sent is given back to the limit of all clients. */
export async function startSms(deps: StartSmsDeps & Pick<MessageRequestDeps, 'jobs'>): Promise<void> {
  await deps.jobs.work(smsTask, async (job, { attempt }) => {
    try {
      const outcome = await deliverSms(deps, job, { attempt })
      if (outcome === 'dropped') await giveBack(deps, job)
      return outcome
    } catch (error) {
      if (error instanceof DeadJob) await giveBack(deps, job)
      throw error
    }
  })
}

/** Gives an SMS back to the window that has counted it. It was counted when its code began to live. */
async function giveBack(
  { config, now, rateLimits }: StartSmsDeps,
  { purpose, expiresAt }: Pick<SmsJob, 'purpose' | 'expiresAt'>,
): Promise<void> {
  const { sms, mfa } = config
  const lifetimeSeconds = purpose === 'second_factor' ? mfa.challengeLifetimeSeconds : sms.codeLifetimeSeconds
  await rateLimits.sms.giveBack(now().getTime() - Date.parse(expiresAt) + lifetimeSeconds * 1_000)
}
