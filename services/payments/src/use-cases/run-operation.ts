import type { Caller } from '../access/caller.ts'
import { type Problem, requireAccess } from '../access/require-access.ts'
import type { PaymentsDeps } from '../deps.ts'
import type { Operation } from '../transactions/operation-group.ts'
import { refuseEntry } from '../transactions/refuse-entry.ts'
import type { OperationKind, Transaction } from '../transactions/transaction.ts'
import { readOperationAccess } from '../transactions/transaction-repository.ts'

/** What a client asks of a transaction; values are null when its body was refused. */
export interface RunOperationInput {
  readonly caller: Caller
  readonly problem: Problem | undefined
  readonly transactionId: string
  readonly kind: OperationKind
  readonly values: Pick<Operation, 'amount' | 'currency' | 'descriptor' | 'reference'> | null
}

/**
 * Captures, refunds or voids part of a transaction. The amount is judged under the lock of the transaction, so two captures of
 * the same money cannot both pass (reference: Refusal of amounts).
 * @throws serverBusy when the operation waits too long, and what `requireAccess` and `refuseEntry` throw
 */
export async function runOperation(
  { lanes, operations }: Pick<PaymentsDeps, 'lanes' | 'operations'>,
  { caller, problem, transactionId, kind, values }: RunOperationInput,
): Promise<{ readonly transaction: Transaction; readonly replayed: boolean }> {
  const { keyMac, userEmail, repeat } = caller
  if (values === null) {
    requireAccess(caller, await readOperationAccess(lanes, { keyMac, userEmail, transactionId, kind }), problem)
    throw new Error('a body without values passed')
  }
  const result = await operations.run({ keyMac, userEmail, repeat, transactionId, kind, ...values })
  const { verdict, transaction, refusal } = requireAccess(caller, result, problem)
  if (refusal) refuseEntry(refusal, kind)
  if (!transaction) throw new Error(`run_operations answered ${verdict} without a transaction`)
  return { transaction, replayed: verdict === 'replayed' }
}
