import type { Lanes } from '@trestle/database/lanes.ts'
import { type Asked, valuesOrNull } from '../access/asked.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { requireAccess } from '../access/require-access.ts'
import type { Dispute } from '../disputes/dispute.ts'
import { callOpenDispute, type NewDispute } from '../disputes/dispute-repository.ts'
import { refuseEntry } from '../transactions/refuse-entry.ts'

/** A dispute of a test merchant. */
export interface OpenDisputeInput {
  readonly caller: Caller
  readonly transactionId: string
  readonly asked: Asked<NewDispute>
}

/**
 * Opens a dispute, as the acquirer would.
 * @throws what `refuseEntry` throws for more than is captured and neither refunded nor disputed, and what `requireAccess` throws
 */
export async function openDispute(
  { lanes }: { readonly lanes: Lanes },
  { caller, transactionId, asked }: OpenDisputeInput,
): Promise<{ readonly dispute: Dispute; readonly replayed: boolean }> {
  const columns = { ...callerColumns(caller), transactionId, dispute: valuesOrNull(asked) }
  const opened = await callOpenDispute(lanes, columns)
  const { verdict, dispute, limit } = requireAccess(caller, opened, asked)
  if (limit) refuseEntry({ reason: 'limit-exceeded', currency: limit.currency, possible: limit.amount }, 'dispute')
  if (!dispute) throw new Error(`open_dispute answered ${verdict} without a dispute`)
  const replayed = verdict === 'replayed'
  // A repeat gets the dispute as it was, whatever has happened to it since.
  return { dispute: replayed ? { ...dispute, status: 'open', resolved: null } : dispute, replayed }
}
