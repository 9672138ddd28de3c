import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Pools } from '@trestle/database/pools.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { refuseMissing } from '../access/require-access.ts'
import type { Db } from '../database.ts'
import { findMerchantForOperator } from '../merchants/operator-merchant-repository.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'
import { payoutRunTask } from '../payouts/payout-job.ts'
import { type PayoutDeps, payOutAsJob } from './pay-out-merchants.ts'

/**
 * Sends a job that pays merchants out, for an operator. A request could not wait for all payouts (reference: Making payouts). The
 * job is inserted in the database transaction of the change.
 */
export async function runPayouts(
  { operatorDb, operatorPools, jobs }: { readonly operatorDb: Db; readonly operatorPools: Pools; readonly jobs: Jobs },
  {
    change,
    merchantId,
  }: {
    readonly change: OperatorChange
    /** `undefined` for all merchants with a balance above 0. */
    readonly merchantId: string | undefined
  },
): Promise<OperatorAnswer> {
  if (merchantId !== undefined && !(await findMerchantForOperator(operatorPools, merchantId))) refuseMissing()
  return runOperatorChange(operatorDb, change, async (trx) => {
    const only = merchantId === undefined ? {} : { merchantId }
    const job = await jobs.send(trx, payoutRunTask, only)
    return { answer: { job }, object: { kind: 'job', id: job }, ...only, changes: only }
  })
}

/** Starts the worker of the payout jobs that operators send. */
export function startPayoutRuns(
  deps: PayoutDeps & {
    readonly jobs: Jobs
    readonly logger: ServiceLogger['logger']
    readonly meter: Metrics['meter']
  },
): Promise<void> {
  return deps.jobs.work(payoutRunTask, async ({ merchantId }) => {
    await payOutAsJob(deps, { only: merchantId })
    return 'done'
  })
}
