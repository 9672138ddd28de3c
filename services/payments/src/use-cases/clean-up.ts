import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import { deleteUnusedApps } from '../apps/app-repository.ts'
import type { PaymentsConfig } from '../config.ts'
import type { Db, PaymentsTables } from '../database.ts'
import type { OldRows } from '../placement/distributed-rows.ts'
import type { Placement } from '../placement/placement.ts'

/** Deletes expired and old rows every hour, in one process at a time. */
export const cleanUpTask = defineTask<Record<string, never>>('clean_up', {
  retryLimit: 3,
  firstDelaySeconds: 60,
  delaySecondsMax: 600,
  timeoutSeconds: 600,
})
const EVERY_HOUR = '17 * * * *'

type DeletedRows = Readonly<Partial<Record<keyof PaymentsTables, number>>>

interface CleanUpDeps {
  readonly db: Db
  readonly jobs: Pick<Jobs, 'work' | 'schedule'>
  readonly logger: Pick<ServiceLogger['logger'], 'info'>
  readonly placement: Pick<Placement, 'deleteOldRows' | 'deleteOldEvents'>
  readonly config: Pick<PaymentsConfig, 'unusedAppDays'>
}

/** Deletes expired and old rows in batches (reference: Background work). Locked rows remain until the next run. */
export async function cleanUp({
  db,
  placement,
  config: { unusedAppDays },
}: Pick<CleanUpDeps, 'db' | 'placement' | 'config'>): Promise<DeletedRows> {
  const deleted: Partial<Record<keyof PaymentsTables, number>> = {}
  for (const [table, old] of OLD_ROWS) deleted[table] = await placement.deleteOldRows(db, table, old)
  return {
    ...deleted,
    events: await placement.deleteOldEvents(db),
    apps: unusedAppDays === 0 ? 0 : await deleteUnusedApps(db, unusedAppDays),
  }
}

const EXPIRED = { column: 'expires', age: '0' }

/** The age at which rows are deleted. Invitations stay for 30 days, so that their page can say that they have expired. */
const OLD_ROWS: readonly (readonly [keyof PaymentsTables, OldRows])[] = [
  ['idempotency', { column: 'created', age: '24 hours' }],
  ['merchant_creations', { column: 'created', age: '24 hours' }],
  ['payment_sessions', EXPIRED],
  ['spent_tokens', EXPIRED],
  ['token_merchants', EXPIRED],
  ['invitations', { column: 'expires', age: '30 days' }],
  ['app_invitations', { column: 'expires', age: '30 days' }],
]

/**
 * Starts the hourly job, which logs the number of deleted rows by table. A second run deletes rows that have expired since the
 * first run.
 */
export async function startCleanUp({ jobs, logger, ...deps }: CleanUpDeps): Promise<void> {
  await jobs.work(cleanUpTask, async () => {
    logger.info({ rows: await cleanUp(deps) }, 'cleaned up')
    return 'done'
  })
  await jobs.schedule(cleanUpTask, EVERY_HOUR)
}
