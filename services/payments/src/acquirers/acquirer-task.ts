import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'

/** Handing a movement of money that our books have decided to the acquirer. The function that books it makes the job. */
export interface AcquirerJob {
  readonly merchantId: string
  /** The trail entry. */
  readonly id: string
}

export const acquirerTask = defineTask<AcquirerJob>('acquirer', {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 30,
  sealed: false,
})
