import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Db } from '../database.ts'
import { callSnapshotAccounts } from '../ledger/ledger-repository.ts'
import { snapshotTask } from '../ledger/snapshot-job.ts'
import { forEachMerchant } from '../merchants/each-merchant.ts'

type SnapshotDeps = { readonly db: Db; readonly logger: ServiceLogger['logger'] }

/** In UTC. */
const WELL_AFTER_MIDNIGHT = '41 1 * * *'

/**
 * Stores the sums of all merchants' accounts up to the end of the last complete day, so that house accounts need no running total
 * (reference: Accounts). A second run on the same day stores nothing, because account and day are the key of a sum. After a
 * missed day, the next sum continues from the last stored sum.
 * @throws Error after the last merchant if some failed, so that the queue runs the job again for all of them
 */
export async function snapshotAccounts(deps: SnapshotDeps): Promise<Outcome> {
  await forEachMerchant(deps, (merchantId) => callSnapshotAccounts(deps.db, merchantId))
  return 'done'
}

export async function startSnapshots({ jobs, ...deps }: SnapshotDeps & { readonly jobs: Jobs }): Promise<void> {
  await jobs.work(snapshotTask, () => snapshotAccounts(deps))
  await jobs.schedule(snapshotTask, WELL_AFTER_MIDNIGHT)
}
