import type { Pools } from '@trestle/database/pools.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { type RequestInput, requireOutcome, valuesOrNull } from '../access/require-access.ts'
import type { Dispute } from '../disputes/dispute.ts'
import { callCloseDispute } from '../disputes/dispute-repository.ts'
import { disputeAlreadyLost, disputeAlreadyWon } from '../errors.ts'
import { refuseEntry } from '../transactions/refuse-entry.ts'

/** Closes a dispute of a test merchant (reference: Disputes). Closing it again with the same outcome changes nothing. */
export async function closeDispute(
  { pools }: { readonly pools: Pools },
  {
    caller,
    disputeId,
    input,
  }: {
    readonly caller: Caller
    readonly disputeId: string
    readonly input: RequestInput<{ readonly outcome: 'won' | 'lost' }>
  },
): Promise<{ readonly dispute: Dispute; readonly replayed: boolean }> {
  const wanted = valuesOrNull(input)?.outcome ?? null
  const closed = await callCloseDispute(pools, { ...callerColumns(caller), disputeId, outcome: wanted })
  const { outcome, replayed } = requireOutcome(caller, closed, input)
  switch (outcome.verdict) {
    case 'conflict':
      throw wanted === 'won' ? disputeAlreadyLost() : disputeAlreadyWon()
    case 'trail-full':
      return refuseEntry({ reason: outcome.verdict }, 'dispute')
    case 'closed':
      return { dispute: outcome.dispute, replayed }
  }
}
