import type { Meter } from '@opentelemetry/api'
import { defineTask } from '@trestle/jobs/task.ts'
import type { PayoutSkip } from './payout.ts'

/** Pays every merchant out, where that is done daily. */
export const payoutTask = defineTask<Record<string, never>>('payout', {
  retryLimit: 5,
  firstDelaySeconds: 60,
  longestDelaySeconds: 3_600,
  timeoutSeconds: 10_000,
  sealed: false,
})

export const PAYOUT_CRON = '5 4 * * *'

/** Counts turns of merchants: `paid` where the day has its payout, else why not. */
export function countPayouts(meter: Meter): (skipped: PayoutSkip | 'failed' | undefined) => void {
  const payouts = meter.createCounter('payments_payouts_total', { description: 'Turns of merchants by outcome' })
  return (skipped) => payouts.add(1, { outcome: skipped ?? 'paid' })
}
