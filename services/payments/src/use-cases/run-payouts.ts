import { refuseMissing } from '../access/require-access.ts'
import type { PaymentsDeps, ProcessDeps } from '../deps.ts'
import { findOperatedMerchant } from '../merchants/operator-merchant-repository.ts'
import type { OperatorAnswer, OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { payoutRunTask } from '../payouts/payout-job.ts'
import { payOutAsJob } from './pay-out-as-job.ts'
import type { PayoutDeps } from './pay-out-merchants.ts'

/** The merchants whom an operator pays out. */
export interface RunPayoutsInput {
  readonly change: OperatorChange
  /** Undefined: all merchants with a balance above 0. */
  readonly merchantId: string | undefined
}

/**
 * Has a job pay merchants out, for an operator: all of them may take longer than a request (reference: Making
 * payouts). The job is sent in the transaction of the change.
 * @throws notFound for an unknown merchant, idempotencyKeyReused
 */
export async function runPayouts(
  { operatorDb, operatorLanes, jobs }: Pick<PaymentsDeps, 'operatorDb' | 'operatorLanes' | 'jobs'>,
  { change, merchantId }: RunPayoutsInput,
): Promise<OperatorAnswer> {
  if (merchantId !== undefined && !(await findOperatedMerchant(operatorLanes, merchantId))) refuseMissing()
  return runOperatorChange(operatorDb, change, async (trx) => {
    const only = merchantId === undefined ? {} : { merchantId }
    const job = await jobs.send(trx, payoutRunTask, only)
    return { answer: { job }, object: { kind: 'job', id: job }, ...only, changes: only }
  })
}

/** Takes the jobs by which operators pay out. */
export function startPayoutRuns(deps: PayoutDeps & Pick<ProcessDeps, 'jobs' | 'logger' | 'meter'>): Promise<void> {
  return deps.jobs.work(payoutRunTask, async ({ merchantId }) => {
    await payOutAsJob(deps, { only: merchantId })
    return 'done'
  })
}
