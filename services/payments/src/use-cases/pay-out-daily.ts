import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { PAYOUT_CRON, payoutTask } from '../payouts/payout-job.ts'
import { type PayoutDeps, payOutAsJob } from './pay-out-merchants.ts'

/**
 * Pays out all merchants, as the job of the day (reference: Making payouts). Drops the job when the settings
 * are not `daily`: the queue keeps a schedule after the settings have changed. A second run of the day pays
 * out only the merchants whom the first run did not reach: other merchants have the payout of the day
 * already.
 * @throws Error after the last merchant when some could not be paid out, or at once when the database is
 * away. The queue then runs the job again for all merchants
 */
export async function payOutDaily(
  deps: PayoutDeps & { readonly logger: ServiceLogger['logger']; readonly meter: Metrics['meter'] },
): Promise<Outcome> {
  if (deps.config.payouts.schedule !== 'daily') return 'dropped'
  await payOutAsJob(deps)
  return 'done'
}

/** Takes the daily payout job from the queue, and schedules it where the settings say `daily`. */
export async function startDailyPayouts(
  deps: PayoutDeps & {
    readonly jobs: Jobs
    readonly logger: ServiceLogger['logger']
    readonly meter: Metrics['meter']
  },
): Promise<void> {
  await deps.jobs.work(payoutTask, () => payOutDaily(deps))
  if (deps.config.payouts.schedule === 'daily') await deps.jobs.schedule(payoutTask, PAYOUT_CRON)
}
