import type { Outcome } from '@trestle/jobs/jobs.ts'
import type { ProcessDeps } from '../deps.ts'
import { forEachMerchant } from '../merchants/each-merchant.ts'
import { callSnapshotAccounts } from '../snapshots/snapshot-repository.ts'
import { SNAPSHOT_CRON, snapshotTask } from '../snapshots/snapshot-task.ts'

type SnapshotDeps = Pick<ProcessDeps, 'db' | 'logger'>

/** Has the accounts of all merchants summed every night. */
export async function workOnSnapshots({ jobs, ...deps }: SnapshotDeps & Pick<ProcessDeps, 'jobs'>): Promise<void> {
  await jobs.work(snapshotTask, () => snapshotAccounts(deps))
  await jobs.schedule(snapshotTask, SNAPSHOT_CRON)
}

/** Sums the accounts of all merchants up to the end of yesterday, so that house accounts need no running total. */
export async function snapshotAccounts(deps: SnapshotDeps): Promise<Outcome> {
  await forEachMerchant(deps, (merchantId) => callSnapshotAccounts(deps.db, merchantId))
  return 'done'
}
