import type { Pools } from '@trestle/database/pools.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { type RequestInput, requireOutcome, valuesOrNull } from '../access/require-access.ts'
import type { Dispute, NewDispute } from '../disputes/dispute.ts'
import { callOpenDispute } from '../disputes/dispute-repository.ts'
import { tooManyDisputes } from '../errors.ts'
import { refuseCurrency, refuseEntry } from '../transactions/refuse-entry.ts'

/** Opens a dispute of a test merchant, as the acquirer would (reference: Disputes). */
export async function openDispute(
  { pools }: { readonly pools: Pools },
  {
    caller,
    transactionId,
    input,
  }: {
    readonly caller: Caller
    readonly transactionId: string
    readonly input: RequestInput<NewDispute>
  },
): Promise<{ readonly dispute: Dispute; readonly replayed: boolean }> {
  const columns = { ...callerColumns(caller), transactionId, dispute: valuesOrNull(input) }
  const opened = await callOpenDispute(pools, columns)
  const { outcome, replayed } = requireOutcome(caller, opened, input)
  switch (outcome.verdict) {
    case 'limit-exceeded': {
      const { verdict: reason, currency, possible } = outcome
      return refuseEntry({ reason, currency, possible }, 'dispute')
    }
    case 'no-rate':
      return refuseCurrency()
    case 'too-many-open':
      throw tooManyDisputes()
    case 'opened': {
      const { dispute } = outcome
      // An idempotent request gets the dispute as it was when it was opened, even if it has changed since.
      return { dispute: replayed ? { ...dispute, status: 'open', resolved: null } : dispute, replayed }
    }
  }
}
