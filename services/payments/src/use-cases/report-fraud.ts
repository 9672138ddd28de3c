import type { Lanes } from '@trestle/database/lanes.ts'
import { type Asked, valuesOrNull } from '../access/asked.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { requireObject } from '../access/require-access.ts'
import type { Fraud } from '../disputes/fraud.ts'
import { callAddFraud, type NewFraud } from '../disputes/fraud-repository.ts'

/** A fraud alert of a test merchant. */
export interface ReportFraudInput {
  readonly caller: Caller
  readonly transactionId: string
  readonly asked: Asked<NewFraud>
}

/**
 * Stores a fraud alert of a test merchant, as the acquirer would report it (reference: Fraud alerts).
 * @returns the fraud alert, and whether an earlier request with the Idempotency-Key stored it
 * @throws what `requireObject` throws
 */
export async function reportFraud(
  { lanes }: { readonly lanes: Lanes },
  { caller, transactionId, asked }: ReportFraudInput,
): Promise<{ readonly fraud: Fraud; readonly replayed: boolean }> {
  const added = await callAddFraud(lanes, { ...callerColumns(caller), transactionId, fraud: valuesOrNull(asked) })
  const fraud = requireObject(caller, added, { asked, name: 'fraud' })
  return { fraud, replayed: added.verdict === 'replayed' }
}
