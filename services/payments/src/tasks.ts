import { type AnyTask, defineTask } from '@trestle/jobs/task.ts'
import { acquirerEventsTask, acquirerTask, confirmationTask } from './acquirers/acquirer-tasks.ts'
import { simulatedDisputeTask } from './disputes/simulated-dispute-task.ts'
import { snapshotTask } from './ledger/snapshot-task.ts'
import { invitationMailTask } from './mail/invitation-mail.ts'
import { rejectionMailTask } from './mail/rejection-mail.ts'
import { payoutTask } from './payouts/payout-task.ts'
import { attemptSweepTask, expiryTask, inquiryTask } from './transactions/transaction-tasks.ts'
import { deliveryTask } from './webhooks/delivery.ts'

/** Deletes expired and old rows every hour, in one process at a time. */
export const cleanUpTask = defineTask<Record<string, never>>('clean_up', {
  retryLimit: 3,
  firstDelaySeconds: 60,
  longestDelaySeconds: 600,
  timeoutSeconds: 600,
  sealed: false,
})
export const CLEAN_UP_CRON = '17 * * * *'

/** All kinds of background work. `migrate` makes a queue for each. */
export const tasks: readonly AnyTask[] = [
  acquirerTask,
  acquirerEventsTask,
  attemptSweepTask,
  confirmationTask,
  rejectionMailTask,
  expiryTask,
  inquiryTask,
  invitationMailTask,
  cleanUpTask,
  deliveryTask,
  payoutTask,
  simulatedDisputeTask,
  snapshotTask,
]
