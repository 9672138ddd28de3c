import { defineTask } from '@trestle/jobs/task.ts'

/** Pays every merchant out, where that is done daily. */
export const payoutTask = defineTask<Record<string, never>>('payout', {
  ...{ retryLimit: 5, firstDelaySeconds: 60, longestDelaySeconds: 3_600 },
  timeoutSeconds: 10_000,
  sealed: false,
})

export const PAYOUT_CRON = '5 4 * * *'
