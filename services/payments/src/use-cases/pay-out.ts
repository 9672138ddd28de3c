import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { type RequestInput, requireOutcome } from '../access/require-access.ts'
import type { PaymentsConfig } from '../config.ts'
import { payoutSkipped } from '../errors.ts'
import type { Payout } from '../payouts/payout.ts'
import { countPayouts } from '../payouts/payout-job.ts'
import { callPayOut } from '../payouts/payout-repository.ts'

/** Pays out a test merchant (reference: Making payouts). Later requests on the same day return the same payout. */
export async function payOut(
  {
    pools,
    config: { payouts },
    meter,
  }: { readonly pools: Pools; readonly meter: Metrics['meter']; readonly config: Pick<PaymentsConfig, 'payouts'> },
  {
    caller,
    merchantId,
    input,
  }: {
    readonly caller: Caller
    readonly merchantId: string
    readonly input: RequestInput<unknown>
  },
): Promise<{ readonly payout: Payout; readonly replayed: boolean }> {
  const isRefused = input.verdict === 'refused'
  const rules = isRefused
    ? { minimumMajorUnits: null, delayDays: null }
    : { minimumMajorUnits: payouts.minimumMajorUnits, delayDays: payouts.delayDays.test }
  const paid = await callPayOut(pools, { ...callerColumns(caller), merchantId, ...rules })
  const { outcome, replayed } = requireOutcome(caller, paid, input)
  if (!replayed) countPayouts(meter)(outcome.verdict === 'skipped' ? outcome.reason : 'paid')
  if (outcome.verdict === 'skipped') throw payoutSkipped(outcome.reason)
  return { payout: outcome.payout, replayed }
}
