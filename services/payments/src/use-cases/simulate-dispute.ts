import type { Pools } from '@trestle/database/pools.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { TRUSTED_COLUMNS } from '../access/caller.ts'
import { simulatedRef } from '../acquirers/simulator.ts'
import { DEFAULT_REASON } from '../disputes/dispute.ts'
import { callOpenDispute } from '../disputes/dispute-repository.ts'
import { type SimulatedDisputeJob, simulatedDisputeTask } from '../disputes/simulated-dispute-job.ts'

/**
 * Disputes everything that is captured and not refunded, once for each transaction (reference: Test numbers). A second run
 * changes nothing. The reference of the dispute is derived from the transaction and is unique within the merchant.
 */
async function simulateDispute({ pools }: { readonly pools: Pools }, { id }: SimulatedDisputeJob): Promise<Outcome> {
  const dispute = { ...DEFAULT_REASON, acquirerRef: simulatedRef(id) }
  const { outcome } = await callOpenDispute(pools, { ...TRUSTED_COLUMNS, transactionId: id, dispute })
  return outcome === undefined || outcome.verdict === 'opened' ? 'done' : 'dropped'
}

/** Starts the worker that disputes transactions of some test cards after their first capture. */
export function startSimulatedDisputes(deps: { readonly pools: Pools; readonly jobs: Jobs }): Promise<void> {
  return deps.jobs.work(simulatedDisputeTask, (job) => simulateDispute(deps, job))
}
