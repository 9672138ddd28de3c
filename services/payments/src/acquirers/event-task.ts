import { defineTask } from '@trestle/jobs/task.ts'

/** Fetches what the acquirers have to tell. */
export const acquirerEventsTask = defineTask<Record<string, never>>('acquirer_events', {
  ...{ retryLimit: 0, firstDelaySeconds: 1, longestDelaySeconds: 1 },
  timeoutSeconds: 55,
  sealed: false,
})
