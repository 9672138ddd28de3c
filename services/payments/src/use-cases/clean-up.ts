import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { deleteOldRows } from '@trestle/database/delete-old-rows.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import { deleteOldAppInvitations, deleteUnusedApps } from '../apps/app-repository.ts'
import { deleteExpiredSessions } from '../checkout/session-repository.ts'
import type { Db, PaymentsTables } from '../database.ts'
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
const EVERY_HOUR = '17 * * * *'

/** How many rows of a table were deleted. */
type DeletedRows = Readonly<Partial<Record<keyof PaymentsTables, number>>>

interface CleanUpDeps {
  readonly db: Db
  readonly jobs: Pick<Jobs, 'work' | 'schedule'>
  readonly logger: Pick<ServiceLogger['logger'], 'info'>
  readonly unusedAppDays: number
}

/** Starts the hourly job, which logs how many rows of each table it has deleted. A second run deletes what has become old since. */
export async function startCleanUp({ jobs, logger, ...deps }: CleanUpDeps): Promise<void> {
  await jobs.work(cleanUpTask, async () => {
    logger.info({ rows: await cleanUp(deps) }, 'cleaned up')
    return 'done'
  })
  await jobs.schedule(cleanUpTask, EVERY_HOUR)
}

/**
 * Deletes expired and old rows, a batch a statement. Locked rows stay until the next run. `unusedAppDays`: the age at which apps
 * that nobody uses are deleted; 0: never.
 */
export async function cleanUp({ db, unusedAppDays }: Pick<CleanUpDeps, 'db' | 'unusedAppDays'>): Promise<DeletedRows> {
  return {
    ...(await deleteOldKeys(db)),
    ...(await deleteExpiredSessions(db)),
    invitations: await deleteOldInvitations(db),
    app_invitations: await deleteOldAppInvitations(db),
    events: await deleteOldEvents(db),
    apps: unusedAppDays === 0 ? 0 : await deleteUnusedApps(db, unusedAppDays),
  }
}

/** Deletes the Idempotency-Keys of more than a day. */
async function deleteOldKeys(db: Db): Promise<DeletedRows> {
  const old = { column: 'created', age: '24 hours' }
  return {
    idempotency: await deleteOldRows(db, 'idempotency', old),
    merchant_creations: await deleteOldRows(db, 'merchant_creations', old),
  }
}
