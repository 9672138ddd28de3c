import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Outcome } from '@trestle/jobs/jobs.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import { type DeletedRows, deleteOldKeys } from '../access/stale-row-repository.ts'
import { deleteOldAppInvitations, deleteUnusedApps } from '../apps/app-repository.ts'
import { deleteExpiredSessions } from '../checkout/session-repository.ts'
import type { Db } from '../database.ts'
import { deleteOldInvitations } from '../members/invitation-repository.ts'
import { deleteOldEvents } from '../webhooks/event-repository.ts'

/** Deletes expired and old rows every hour, in one process at a time. */
export const cleanUpTask = defineTask<Record<string, never>>('clean_up', {
  retryLimit: 3,
  firstDelaySeconds: 60,
  delaySecondsMax: 600,
  timeoutSeconds: 600,
  sealed: false,
})
/** When the task runs: in minute 17 of each hour. */
export const CLEAN_UP_CRON = '17 * * * *'

interface CleanUpDeps {
  readonly db: Db
  readonly logger: Pick<ServiceLogger['logger'], 'info'>
  readonly unusedAppDays: number
}

/**
 * Deletes expired and old rows, a batch a statement. Locked rows stay until the next run. `unusedAppDays`: the age at which apps
 * that nobody uses are deleted; 0: never.
 */
export async function cleanUp(db: Db, { unusedAppDays }: Pick<CleanUpDeps, 'unusedAppDays'>): Promise<DeletedRows> {
  const keys = await deleteOldKeys(db)
  const sessions = await deleteExpiredSessions(db)
  const invitations = await deleteOldInvitations(db)
  const appInvitations = await deleteOldAppInvitations(db)
  const events = await deleteOldEvents(db)
  const apps = unusedAppDays === 0 ? 0 : await deleteUnusedApps(db, unusedAppDays)
  return { ...keys, ...sessions, ...invitations, ...appInvitations, events, apps }
}

/** The hourly job. Logs how many rows of each table were deleted. A second run deletes what has become old since the first. */
export async function runCleanUp({ db, logger, unusedAppDays }: CleanUpDeps): Promise<Outcome> {
  logger.info({ rows: await cleanUp(db, { unusedAppDays }) }, 'cleaned up')
  return 'done'
}
