import type { ProcessDeps } from './deps.ts'
import { CLEAN_UP_CRON, cleanUpTask } from './tasks.ts'
import { workOnAcquirerEvents } from './use-cases/apply-acquirer-events.ts'
import { runCleanUp } from './use-cases/clean-up.ts'
import { workOnDeliveries } from './use-cases/deliver-events.ts'
import { workOnConfirmations } from './use-cases/end-confirmation.ts'
import { workOnExpiry } from './use-cases/expire-authorizations.ts'
import { workOnInquiries } from './use-cases/inquire-attempt.ts'
import { workOnPayouts } from './use-cases/run-payouts.ts'
import { workOnInvitationMails } from './use-cases/send-invitation.ts'
import { workOnSimulatedDisputes } from './use-cases/simulate-dispute.ts'
import { workOnSnapshots } from './use-cases/snapshot-accounts.ts'
import { workOnOperations } from './use-cases/submit-operation.ts'
import { workOnAttemptSweeps } from './use-cases/sweep-attempts.ts'
import { workOnRejectionMails } from './use-cases/tell-rejection.ts'

type WorkDeps = Pick<
  ProcessDeps,
  | 'db'
  | 'lanes'
  | 'jobs'
  | 'outbox'
  | 'limits'
  | 'acquirers'
  | 'payouts'
  | 'authorizationExpiryDays'
  | 'confirmationDays'
  | 'logger'
  | 'meter'
  | 'baseUrl'
  | 'mailer'
  | 'webhooks'
  | 'unusedAppDays'
  | 'now'
>

/** Starts the background work of a process, once its queue is open. */
export async function startWork(deps: WorkDeps): Promise<void> {
  if (deps.mailer) {
    await workOnInvitationMails(deps, deps.mailer)
    await workOnRejectionMails(deps, deps.mailer)
  } else deps.logger.warn('no mail server is set: mails wait in the queue')
  await workOnOperations(deps)
  await workOnConfirmations(deps)
  await workOnInquiries(deps)
  await workOnAttemptSweeps(deps)
  await workOnAcquirerEvents(deps)
  await workOnDeliveries(deps)
  await workOnSimulatedDisputes(deps)
  await workOnExpiry(deps)
  await workOnPayouts(deps)
  await workOnSnapshots(deps)
  await deps.jobs.work(cleanUpTask, () => runCleanUp(deps))
  await deps.jobs.schedule(cleanUpTask, CLEAN_UP_CRON)
  deps.outbox.start()
}

/** Stops it within so many milliseconds. */
export async function stopWork({ jobs, outbox }: Pick<WorkDeps, 'jobs' | 'outbox'>, withinMs: number): Promise<void> {
  await outbox.stop()
  await jobs.close(withinMs)
}
