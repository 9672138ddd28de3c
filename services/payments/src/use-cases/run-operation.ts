import type { Asked } from '../access/asked.ts'
import type { Caller } from '../access/caller.ts'
import { requireAccess } from '../access/require-access.ts'
import type { PaymentsDeps } from '../deps.ts'
import type { Operation, OperationResult } from '../transactions/operation-group.ts'
import { refuseEntry } from '../transactions/refuse-entry.ts'
import type { OperationKind, Transaction } from '../transactions/transaction.ts'
import { readOperationAccess } from '../transactions/transaction-repository.ts'

/** What a client asks of a transaction. */
export interface RunOperationInput {
  readonly caller: Caller
  readonly transactionId: string
  readonly kind: OperationKind
  readonly asked: Asked<Pick<Operation, 'amount' | 'currency' | 'descriptor' | 'reference'>>
}

type OperationDeps = Pick<PaymentsDeps, 'lanes' | 'operations'>

/**
 * Captures, refunds or voids part of a transaction. The amount is judged under the lock of the transaction, so two captures of
 * the same money cannot both pass (reference: Refusal of amounts).
 * @throws serverBusy when the operation waits too long, and what `requireAccess` and `refuseEntry` throw
 */
export async function runOperation(
  deps: OperationDeps,
  input: RunOperationInput,
): Promise<{ readonly transaction: Transaction; readonly replayed: boolean }> {
  const result = await runOrJudge(deps, input)
  const { verdict, transaction, refusal } = requireAccess(input.caller, result, input.asked)
  if (refusal) refuseEntry(refusal, input.kind)
  if (!transaction) throw new Error(`run_operations answered ${verdict} without a transaction`)
  return { transaction, replayed: verdict === 'replayed' }
}

/** Runs the operation. For a refused request only access is judged: its result has no transaction. */
function runOrJudge(
  { lanes, operations }: OperationDeps,
  { caller: { keyMac, userEmail, repeat }, transactionId, kind, asked }: RunOperationInput,
): Promise<OperationResult> {
  if (asked.verdict === 'refused') return readOperationAccess(lanes, { keyMac, userEmail, transactionId, kind })
  return operations.run({ keyMac, userEmail, repeat, transactionId, kind, ...asked.values })
}
