import type { AuthDeps } from './deps.ts'
import { type UserCreatedDeps, workOnUsersCreated } from './hooks/user-created-job.ts'
import { type AnswerDeps, workOnMessageRequests } from './message-requests/message-request-job.ts'
import { type MailWorkDeps, workOnMails } from './messages/mail-job.ts'
import { type SmsWorkDeps, workOnSms } from './messages/sms-job.ts'

/** What the background work of all tasks works with. */
export type WorkDeps = Pick<AuthDeps, 'outbox'> & AnswerDeps & MailWorkDeps & SmsWorkDeps & UserCreatedDeps

/** Starts to work on what requests queue: requests for messages, mails, SMS, and calls of the hook AFTER_USER_CREATED. */
export async function startWork(deps: WorkDeps): Promise<void> {
  deps.outbox.start()
  await workOnMessageRequests(deps)
  await workOnMails(deps)
  await workOnSms(deps)
  await workOnUsersCreated(deps)
}
