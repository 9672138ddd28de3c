import type { Outcome } from '@trestle/jobs/jobs.ts'
import type { ProcessDeps } from '../deps.ts'
import { eachMerchant } from '../merchants/each-merchant.ts'
import { callSnapshotAccounts } from '../snapshots/snapshot-repository.ts'
import { SNAPSHOT_CRON, snapshotTask } from '../snapshots/snapshot-task.ts'

/** Has the accounts of all merchants summed every night. */
export async function workOnSnapshots({ db, jobs }: Pick<ProcessDeps, 'db' | 'jobs'>): Promise<void> {
  await jobs.work(snapshotTask, () => snapshotAccounts(db))
  await jobs.schedule(snapshotTask, SNAPSHOT_CRON)
}

/** Sums the accounts of all merchants up to the end of yesterday, so that house accounts need no running total. */
export async function snapshotAccounts(db: ProcessDeps['db']): Promise<Outcome> {
  for await (const merchantId of eachMerchant(db)) await callSnapshotAccounts(db, merchantId)
  return 'done'
}
