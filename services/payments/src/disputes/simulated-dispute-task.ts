import { defineTask } from '@trestle/jobs/task.ts'

/** The dispute of a test card that is disputed at its first capture. The capture makes the job. */
export interface SimulatedDisputeJob {
  readonly merchantId: string
  /** The transaction. */
  readonly id: string
}

export const simulatedDisputeTask = defineTask<SimulatedDisputeJob>('simulated_dispute', {
  retryLimit: 5,
  firstDelaySeconds: 1,
  longestDelaySeconds: 60,
  timeoutSeconds: 30,
  sealed: false,
})
