import type { Lanes } from '@trestle/database/lanes.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { type Problem, requireAccess } from '../access/require-access.ts'
import type { Fraud } from '../disputes/fraud.ts'
import { callAddFraud, type NewFraud } from '../disputes/fraud-repository.ts'

/** A fraud alert of a test merchant; `fraud` is null when the body was refused. */
export interface ReportFraudInput {
  readonly caller: Caller
  readonly problem: Problem | undefined
  readonly transactionId: string
  readonly fraud: NewFraud | null
}

/**
 * Stores a fraud alert, as the acquirer would report it.
 * @throws unauthorized, notFound, forbidden, the error of `problem`, and idempotencyKeyUsed when the key was used with another body
 */
export async function reportFraud(
  { lanes }: { readonly lanes: Lanes },
  { caller, problem, transactionId, fraud: given }: ReportFraudInput,
): Promise<{ readonly fraud: Fraud; readonly replayed: boolean }> {
  const added = await callAddFraud(lanes, { ...callerColumns(caller), transactionId, fraud: given })
  const { verdict, fraud } = requireAccess(caller, added, problem)
  if (!fraud) throw new Error(`add_fraud answered ${verdict} without a fraud alert`)
  return { fraud, replayed: verdict === 'replayed' }
}
