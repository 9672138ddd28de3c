import type { Lanes } from '@trestle/database/lanes.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { type Problem, requireAccess } from '../access/require-access.ts'
import type { Dispute } from '../disputes/dispute.ts'
import { callOpenDispute, type NewDispute } from '../disputes/dispute-repository.ts'
import { refuseEntry } from '../transactions/refuse-entry.ts'

/** A dispute of a test merchant; `dispute` is null when the body was refused. */
export interface OpenDisputeInput {
  readonly caller: Caller
  readonly problem: Problem | undefined
  readonly transactionId: string
  readonly dispute: NewDispute | null
}

/**
 * Opens a dispute, as the acquirer would.
 * @throws what `refuseEntry` throws for more than is captured and neither refunded nor disputed, and what `requireAccess` throws
 */
export async function openDispute(
  { lanes }: { readonly lanes: Lanes },
  { caller, problem, transactionId, dispute: given }: OpenDisputeInput,
): Promise<{ readonly dispute: Dispute; readonly replayed: boolean }> {
  const opened = await callOpenDispute(lanes, { ...callerColumns(caller), transactionId, dispute: given })
  const { verdict, dispute, limit } = requireAccess(caller, opened, problem)
  if (limit) refuseEntry({ reason: 'limit-exceeded', currency: limit.currency, possible: limit.amount }, 'dispute')
  if (!dispute) throw new Error(`open_dispute answered ${verdict} without a dispute`)
  const replayed = verdict === 'replayed'
  // A repeat gets the dispute as it was, whatever has happened to it since.
  return { dispute: replayed ? { ...dispute, status: 'open', resolved: null } : dispute, replayed }
}
