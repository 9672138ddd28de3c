import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Db } from '../database.ts'
import { callSnapshotAccounts } from '../ledger/ledger-repository.ts'
import { snapshotTask } from '../ledger/snapshot-job.ts'
import { forEachMerchant } from '../merchants/each-merchant.ts'

type SnapshotDeps = { readonly db: Db; readonly logger: ServiceLogger['logger'] }

/** UTC. */
const WELL_AFTER_MIDNIGHT = '41 1 * * *'

/**
 * Sums the accounts of all merchants up to the end of the last day that is over, so that house accounts need no running total
 * (reference: Accounts). A second run of the day stores nothing: the key of a sum is its account and day. A missed day loses
 * nothing, because the next sum continues from the last one.
 * @throws Error after the last merchant when some were left out, so that the queue runs the job again for all of them
 */
export async function snapshotAccounts(deps: SnapshotDeps): Promise<Outcome> {
  await forEachMerchant(deps, (merchantId) => callSnapshotAccounts(deps.db, merchantId))
  return 'done'
}

export async function startSnapshots({ jobs, ...deps }: SnapshotDeps & { readonly jobs: Jobs }): Promise<void> {
  await jobs.work(snapshotTask, () => snapshotAccounts(deps))
  await jobs.schedule(snapshotTask, WELL_AFTER_MIDNIGHT)
}
