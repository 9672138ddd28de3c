import type { ProcessDeps } from './deps.ts'
import { startAcquirerEvents } from './use-cases/apply-acquirer-events.ts'
import { CLEAN_UP_CRON, cleanUpTask, runCleanUp } from './use-cases/clean-up.ts'
import { startDeliveries } from './use-cases/deliver-events.ts'
import { startConfirmations } from './use-cases/end-confirmation.ts'
import { startExpiry } from './use-cases/expire-authorizations.ts'
import { startInquiries } from './use-cases/inquire-attempt.ts'
import { startPayouts } from './use-cases/run-payouts.ts'
import { startInvitationMails } from './use-cases/send-invitation.ts'
import { startRejectionMails } from './use-cases/send-rejection.ts'
import { startSimulatedDisputes } from './use-cases/simulate-dispute.ts'
import { startSnapshots } from './use-cases/snapshot-accounts.ts'
import { startOperations } from './use-cases/submit-operation.ts'
import { startAttemptSweeps } from './use-cases/sweep-attempts.ts'

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
    await startInvitationMails(deps, deps.mailer)
    await startRejectionMails(deps, deps.mailer)
  } else deps.logger.warn('no mail server is set: mails wait in the queue')
  await startOperations(deps)
  await startConfirmations(deps)
  await startInquiries(deps)
  await startAttemptSweeps(deps)
  await startAcquirerEvents(deps)
  await startDeliveries(deps)
  await startSimulatedDisputes(deps)
  await startExpiry(deps)
  await startPayouts(deps)
  await startSnapshots(deps)
  await deps.jobs.work(cleanUpTask, () => runCleanUp(deps))
  await deps.jobs.schedule(cleanUpTask, CLEAN_UP_CRON)
  deps.outbox.start()
}

/** Stops the background work within so many milliseconds. */
export async function stopWork({ jobs, outbox }: Pick<WorkDeps, 'jobs' | 'outbox'>, withinMs: number): Promise<void> {
  await outbox.stop()
  await jobs.close(withinMs)
}
