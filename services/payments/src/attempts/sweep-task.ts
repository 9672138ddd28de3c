import { defineTask } from '@trestle/jobs/task.ts'

/** Calls attempts unknown that a process has sent and never finished. */
export const attemptSweepTask = defineTask<Record<string, never>>('attempt_sweep', {
  ...{ retryLimit: 0, firstDelaySeconds: 1, longestDelaySeconds: 1 },
  timeoutSeconds: 50,
  sealed: false,
})
