import type { ProcessDeps } from './deps.ts'
import { workOnInvitationMails } from './invitations/send-invitation.ts'

type WorkDeps = Pick<ProcessDeps, 'lanes' | 'jobs' | 'outbox' | 'logger' | 'meter' | 'baseUrl' | 'mailer'>

/** Begins the background work of a process, once its jobs are open. */
export async function startWork(deps: WorkDeps): Promise<void> {
  if (deps.mailer) await workOnInvitationMails(deps, deps.mailer)
  else deps.logger.warn('no mail server is set: mails wait in the queue')
  deps.outbox.start()
}

/** Ends it, within so many milliseconds. */
export async function stopWork({ jobs, outbox }: Pick<WorkDeps, 'jobs' | 'outbox'>, withinMs: number): Promise<void> {
  await outbox.stop()
  await jobs.close(withinMs)
}
