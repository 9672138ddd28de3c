import type { Pools } from '@trestle/database/pools.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { type RequestInput, requireObject, valuesOrNull } from '../access/require-access.ts'
import type { Fraud } from '../disputes/fraud.ts'
import { callAddFraud, type NewFraud } from '../disputes/fraud-repository.ts'

/** Adds a fraud alert of a test merchant, as the acquirer would report it (reference: Fraud alerts). */
export async function addFraud(
  { pools }: { readonly pools: Pools },
  {
    caller,
    transactionId,
    input,
  }: {
    readonly caller: Caller
    readonly transactionId: string
    readonly input: RequestInput<NewFraud>
  },
): Promise<{ readonly fraud: Fraud; readonly replayed: boolean }> {
  const added = await callAddFraud(pools, { ...callerColumns(caller), transactionId, fraud: valuesOrNull(input) })
  const fraud = requireObject(caller, added, { input, name: 'fraud' })
  return { fraud, replayed: added.verdict === 'replayed' }
}
