import { defineTask } from '@trestle/jobs/task.ts'

/** A job that asks for the outcome of an attempt. The first job comes from the outbox, and each job sends the next one. */
export interface InquiryJob {
  readonly merchantId: string
  /** The id of the attempt. */
  readonly id: string
  /** The number of times that the acquirer was asked. Absent if it was never asked. */
  readonly step?: number
}

/** Asks the acquirer for the outcome of an attempt whose answer was lost. */
export const inquiryTask = defineTask<InquiryJob>('inquiry', {
  retryLimit: 5,
  firstDelaySeconds: 5,
  delaySecondsMax: 60,
  timeoutSeconds: 60,
})

/** Voids the remaining amounts of expired authorizations. */
export const expiryTask = defineTask<Record<string, never>>('expiry', {
  retryLimit: 3,
  firstDelaySeconds: 60,
  delaySecondsMax: 600,
  timeoutSeconds: 3_000,
})
