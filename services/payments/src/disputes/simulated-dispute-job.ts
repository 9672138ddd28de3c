import { defineTask } from '@trestle/jobs/task.ts'

/** The job that disputes a transaction of a test card after its first capture. The capture inserts the job. */
export interface SimulatedDisputeJob {
  readonly merchantId: string
  /** The id of the transaction. */
  readonly id: string
}

/** Opens the dispute of a test card after the payment is captured. */
export const simulatedDisputeTask = defineTask<SimulatedDisputeJob>('simulated_dispute', {
  retryLimit: 5,
  firstDelaySeconds: 1,
  delaySecondsMax: 60,
  timeoutSeconds: 30,
})
