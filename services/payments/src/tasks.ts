import type { AnyTask } from '@trestle/jobs/task.ts'
import { invitationMailTask } from './invitations/invitation-mail.ts'

/** Every kind of background work of the service; `migrate` makes a queue for each. */
export const tasks: readonly AnyTask[] = [invitationMailTask]
