import { defineTask } from '@trestle/jobs/task.ts'

/** Finding out what became of an attempt. The first job comes from the outbox; each job sends the next one. */
export interface InquiryJob {
  readonly merchantId: string
  /** The attempt. */
  readonly id: string
  /** The number of times that the acquirer was asked. Absent: none. */
  readonly step?: number
}

/** Asks the acquirer for the outcome of an attempt whose answer was lost. */
export const inquiryTask = defineTask<InquiryJob>('inquiry', {
  retryLimit: 5,
  firstDelaySeconds: 5,
  delaySecondsMax: 60,
  timeoutSeconds: 60,
})

/** Voids what is left of expired authorizations. */
export const expiryTask = defineTask<Record<string, never>>('expiry', {
  retryLimit: 3,
  firstDelaySeconds: 60,
  delaySecondsMax: 600,
  timeoutSeconds: 3_000,
})
