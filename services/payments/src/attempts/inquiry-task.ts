import { defineTask } from '@trestle/jobs/task.ts'

/** Finding out what became of an attempt. It comes from the outbox, and then from itself, one step further each time. */
export interface InquiryJob {
  readonly merchantId: string
  /** The attempt. */
  readonly id: string
  /** How often the acquirer has been asked. Absent: not yet. */
  readonly step?: number
}

export const inquiryTask = defineTask<InquiryJob>('inquiry', {
  ...{ retryLimit: 5, firstDelaySeconds: 5, longestDelaySeconds: 60 },
  timeoutSeconds: 60,
  sealed: false,
})

/** Seconds from one question to the next: asked after 10 s, 1 min, 10 min, 1 h, 6 h and 24 h (reference: Attempts). */
const DELAYS_SECONDS = [10, 50, 540, 3_000, 18_000, 64_800] as const

/** How long to wait before the acquirer is asked again, or undefined when an operator has to find out. */
export function inquiryDelaySeconds(step: number): number | undefined {
  return DELAYS_SECONDS[step]
}
