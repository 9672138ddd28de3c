import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Pools } from '@trestle/database/pools.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { PaymentsConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { forEachMerchant } from '../merchants/each-merchant.ts'
import { expiryTask } from '../transactions/transaction-jobs.ts'
import { callExpireInBatches } from '../transactions/transaction-repository.ts'

type ExpiryDeps = {
  readonly db: Db
  readonly pools: Pools
  readonly logger: ServiceLogger['logger']
  readonly config: Pick<PaymentsConfig, 'dayLimits'>
}

const EVERY_HOUR = '23 * * * *'

/**
 * Voids the authorizations of all merchants that are older than `authorizationExpiryDays` (reference: Expiry of authorizations).
 * A second run changes nothing, because expired amounts are no longer pending.
 * @throws Error after the last merchant if some merchants were skipped, so that the queue runs the job again for all merchants
 */
export async function expireAuthorizations(deps: ExpiryDeps): Promise<Outcome> {
  const { pools } = deps
  const { authorizationExpiryDays: days } = deps.config.dayLimits
  const batches = Number.POSITIVE_INFINITY
  await forEachMerchant(deps, (merchantId) => callExpireInBatches(pools, { merchantId, days, batches }))
  return 'done'
}

/** Starts the hourly job that voids expired authorizations, if the settings define an expiry. */
export async function startExpiry({ jobs, ...deps }: ExpiryDeps & { readonly jobs: Jobs }): Promise<void> {
  await jobs.work(expiryTask, () => expireAuthorizations(deps))
  if (deps.config.dayLimits.authorizationExpiryDays > 0) await jobs.schedule(expiryTask, EVERY_HOUR)
}
