import type { AuthDeps } from './deps.ts'
import { workOnUsersCreated } from './hooks/user-created-job.ts'
import { workOnMessageRequests } from './message-requests/message-request-job.ts'
import { workOnMails } from './messages/mail-job.ts'
import { workOnSms } from './messages/sms-job.ts'

/** Begins to work on what requests leave behind: the outbox, requests for messages, mails and SMS. */
export async function startWork(deps: AuthDeps): Promise<void> {
  deps.outbox.start()
  await workOnMessageRequests(deps)
  await workOnMails(deps)
  await workOnSms(deps)
  await workOnUsersCreated(deps)
}
