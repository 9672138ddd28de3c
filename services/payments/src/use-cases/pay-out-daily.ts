import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { ProcessDeps } from '../deps.ts'
import { PAYOUT_CRON, payoutTask } from '../payouts/payout-job.ts'
import { payOutAsJob } from './pay-out-as-job.ts'
import type { PayoutDeps } from './pay-out-merchants.ts'

/**
 * Pays out all merchants, as the job of the day (reference: Making payouts). Drops the job when the settings
 * are not `daily`: the queue keeps a schedule after the settings have changed. A second run of the day pays
 * out only the merchants whom the first run did not reach: other merchants have the payout of the day
 * already.
 * @throws Error after the last merchant when some could not be paid out, or at once when the database is
 * away. The queue then runs the job again for all merchants
 */
export async function payOutDaily(deps: PayoutDeps & Pick<ProcessDeps, 'logger' | 'meter'>): Promise<Outcome> {
  if (deps.config.payouts.schedule !== 'daily') return 'dropped'
  await payOutAsJob(deps)
  return 'done'
}

/** Takes the daily payout job from the queue, and schedules it where the settings say `daily`. */
export async function startDailyPayouts(
  deps: PayoutDeps & Pick<ProcessDeps, 'jobs' | 'logger' | 'meter'>,
): Promise<void> {
  await deps.jobs.work(payoutTask, () => payOutDaily(deps))
  if (deps.config.payouts.schedule === 'daily') await deps.jobs.schedule(payoutTask, PAYOUT_CRON)
}
