import type { Pools } from '@trestle/database/pools.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { type RequestInput, requireOutcome, valuesOrNull } from '../access/require-access.ts'
import type { PaymentsConfig } from '../config.ts'
import { clockTooFar } from '../errors.ts'
import { callAdvanceClock } from '../merchants/merchant-repository.ts'
import { callExpireInBatches } from '../transactions/transaction-repository.ts'

/** The maximum number of batches per request. The hourly job processes the remaining authorizations. */
const EXPIRY_BATCHES = 50

/**
 * Advances the clock of a test merchant and voids authorizations that have expired by the new time (reference: Test clock).
 * @throws clockTooFar if the clock would be more than 100 years ahead
 */
export async function advanceClock(
  { pools, config }: { readonly pools: Pools; readonly config: Pick<PaymentsConfig, 'dayLimits'> },
  {
    caller,
    merchantId,
    input,
  }: {
    readonly caller: Caller
    readonly merchantId: string
    /** `advance` is in seconds. */
    readonly input: RequestInput<{ readonly advance: number }>
  },
): Promise<{ readonly now: Date; readonly replayed: boolean }> {
  const advance = valuesOrNull(input)?.advance ?? null
  const advanced = await callAdvanceClock(pools, { ...callerColumns(caller), merchantId, advance })
  const { outcome, replayed } = requireOutcome(caller, advanced, input)
  if (outcome.verdict === 'limit-exceeded') throw clockTooFar()
  const days = config.dayLimits.authorizationExpiryDays
  await callExpireInBatches(pools, { merchantId, days, batches: EXPIRY_BATCHES })
  return { now: outcome.now, replayed }
}
