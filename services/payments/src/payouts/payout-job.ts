import type { Meter } from '@opentelemetry/api'
import { defineTask } from '@trestle/jobs/task.ts'
import type { PayoutSkip } from './payout.ts'

/** Pays out all merchants if the settings say `daily`. */
export const payoutTask = defineTask<Record<string, never>>('payout', {
  retryLimit: 5,
  firstDelaySeconds: 60,
  delaySecondsMax: 3_600,
  timeoutSeconds: 10_000,
})

/** Pays out one merchant, or all merchants, at the request of an operator. */
export const payoutRunTask = defineTask<{ readonly merchantId?: string }>('payout_run', {
  retryLimit: 5,
  firstDelaySeconds: 60,
  delaySecondsMax: 3_600,
  timeoutSeconds: 10_000,
})

/** The schedule of the task: every day at 04:05 UTC. */
export const PAYOUT_CRON = '5 4 * * *'

/** Creates the counter of payouts by outcome. `paid` means that the merchant has the payout of the day. */
export function countPayouts(meter: Meter): (outcome: 'paid' | 'failed' | PayoutSkip) => void {
  const payouts = meter.createCounter('payments_payouts_total', {
    description: 'Payouts that the service tried, by outcome',
  })
  return (outcome) => payouts.add(1, { outcome })
}
