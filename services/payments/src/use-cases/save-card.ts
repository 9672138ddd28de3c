import type { Pools } from '@trestle/database/pools.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { type RequestInput, requireOutcome, valuesOrNull } from '../access/require-access.ts'
import { callSaveCard } from '../cards/card-repository.ts'
import { refuseCard, refuseSource } from '../transactions/refuse-entry.ts'

/** Saves the card of a transaction under a new id (reference: Saved cards). */
export async function saveCard(
  { pools }: { readonly pools: Pools },
  {
    caller,
    merchantId,
    input,
  }: {
    readonly caller: Caller
    readonly merchantId: string
    readonly input: RequestInput<{ readonly transactionId: string; readonly notes?: string | undefined }>
  },
): Promise<{ readonly cardId: string; readonly replayed: boolean }> {
  const { transactionId = null, notes = null } = valuesOrNull(input) ?? {}
  const result = await callSaveCard(pools, { ...callerColumns(caller), merchantId, transactionId, notes })
  const { outcome, replayed } = requireOutcome(caller, result, input)
  switch (outcome.verdict) {
    case 'unknown-source':
      return refuseSource('transactionId')
    case 'refused':
      return refuseCard(outcome.errorCode, { replayed })
    case 'kept':
      return { cardId: outcome.cardId, replayed }
  }
}
