import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { type RequestInput, requireOutcome } from '../access/require-access.ts'
import type { Operation, OperationGroup, OperationResult } from '../transactions/operation-group.ts'
import { refuseEntry } from '../transactions/refuse-entry.ts'
import type { OperationKind, Transaction } from '../transactions/transaction.ts'
import { readOperationAccess } from '../transactions/transaction-repository.ts'

export interface RunOperationInput {
  readonly caller: Caller
  readonly transactionId: string
  readonly kind: OperationKind
  readonly operation: RequestInput<Pick<Operation, 'amount' | 'currency' | 'descriptor' | 'reference'>>
}

type OperationDeps = { readonly pools: Pools; readonly operations: OperationGroup }

/**
 * Captures, refunds or voids part of a transaction. The amount is checked under the lock of the transaction, so two captures of
 * the same money cannot both succeed (reference: Refusal of amounts).
 */
export async function runOperation(
  deps: OperationDeps,
  input: RunOperationInput,
): Promise<{ readonly transaction: Transaction; readonly replayed: boolean }> {
  const result = await runOrJudge(deps, input)
  const { outcome, replayed } = requireOutcome(input.caller, result, input.operation)
  switch (outcome.verdict) {
    case 'refused':
      return refuseEntry(outcome.refusal, input.kind)
    case 'done':
      return { transaction: outcome.transaction, replayed }
  }
}

/** Runs the operation. If the request is invalid, only checks access. */
async function runOrJudge(
  { pools, operations }: OperationDeps,
  { caller: { keyMac, userEmail, idempotentRequest }, transactionId, kind, operation }: RunOperationInput,
): Promise<OperationResult> {
  if (operation.verdict === 'refused') {
    const access = await readOperationAccess(pools, { keyMac, userEmail, transactionId, kind })
    return { ...access, outcome: undefined }
  }
  return operations.run({ keyMac, userEmail, idempotentRequest, transactionId, kind, ...operation.values })
}
