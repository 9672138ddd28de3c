import { defineTask } from '@trestle/jobs/task.ts'

/** Ends the wait for acquirers that have not answered, every hour. */
export const confirmationTask = defineTask<Record<string, never>>('confirmation', {
  ...{ retryLimit: 3, firstDelaySeconds: 60, longestDelaySeconds: 600 },
  timeoutSeconds: 3_000,
  sealed: false,
})

export const CONFIRMATION_CRON = '41 * * * *'
