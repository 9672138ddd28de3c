import { defineTask } from '@trestle/jobs/task.ts'

/** Voids what is left of reservations that have expired, every hour. */
export const expiryTask = defineTask<Record<string, never>>('expiry', {
  ...{ retryLimit: 3, firstDelaySeconds: 60, longestDelaySeconds: 600 },
  timeoutSeconds: 3_000,
  sealed: false,
})

export const EXPIRY_CRON = '23 * * * *'
