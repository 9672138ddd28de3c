import type { AnyTask } from '@trestle/jobs/task.ts'
import { acquirerTask } from './acquirers/acquirer-task.ts'
import { acquirerEventsTask } from './acquirers/event-task.ts'
import { inquiryTask } from './attempts/inquiry-task.ts'
import { attemptSweepTask } from './attempts/sweep-task.ts'
import { cleanUpTask } from './clean-up/clean-up.ts'
import { invitationMailTask } from './invitations/invitation-mail.ts'
import { deliveryTask } from './webhooks/delivery.ts'

/** Every kind of background work of the service; `migrate` makes a queue for each. */
export const tasks: readonly AnyTask[] = [
  acquirerTask,
  acquirerEventsTask,
  attemptSweepTask,
  inquiryTask,
  invitationMailTask,
  cleanUpTask,
  deliveryTask,
]
