import { defineTask } from '@trestle/jobs/task.ts'

/** Stores the sums of every account up to the end of the previous day. The task runs every night. */
export const snapshotTask = defineTask<Record<string, never>>('snapshot', {
  retryLimit: 5,
  firstDelaySeconds: 60,
  delaySecondsMax: 3_600,
  timeoutSeconds: 10_000,
})
