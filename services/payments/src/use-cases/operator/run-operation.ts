import type { Pools } from '@trestle/database/pools.ts'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { TRUSTED_CALLER } from '../../access/caller.ts'
import { refuseMissing, refuseRunning, requireOutcome, valid } from '../../access/require-access.ts'
import type { PaymentsConfig } from '../../config.ts'
import type { Db, Trx } from '../../database.ts'
import { refundLimitExceeded, refundNotAllowed, trailReserved } from '../../operator-errors.ts'
import {
  type OperatorAnswer,
  type OperatorChange,
  type OperatorEffect,
  refuseReusedKey,
  runOperatorChange,
} from '../../operators/operator-change-repository.ts'
import { type QuotaOutcome, runWithinQuota } from '../../operators/refund-quota-repository.ts'
import type { OperationGroup, OperatorOperation } from '../../transactions/operation-group.ts'
import { refuseEntry } from '../../transactions/refuse-entry.ts'
import { lastRefundOf } from '../../transactions/trail-bounds.ts'
import type { Transaction } from '../../transactions/transaction.ts'
import { findTransactionTenant } from '../../transactions/transaction-repository.ts'
import { viewTransaction } from '../../transactions/transaction-view.ts'

type OperationDeps = {
  readonly config: Pick<PaymentsConfig, 'refundLimits'>
  readonly operatorPools: Pools
  readonly operatorDb: Db
  readonly operations: OperationGroup
}

/**
 * Captures, refunds or voids part of a transaction of any merchant, for an operator. A refund by the role `support` first uses a
 * part of the refund quota (console reference: Refund quota).
 * @throws conflict if another request with the same key has given back the quota
 */
export async function runOperationForOperator(
  deps: OperationDeps,
  input: {
    readonly change: OperatorChange
    readonly transactionId: string
    readonly kind: OperatorOperation['kind']
    readonly fields: Pick<OperatorOperation, 'amount' | 'currency' | 'descriptor' | 'reference'>
  },
): Promise<OperatorAnswer> {
  const { operatorDb, operatorPools, config } = deps
  const { change, transactionId, kind, fields } = input
  const { merchantId, currency } = (await findTransactionTenant(operatorPools, transactionId)) ?? refuseMissing()
  const { role } = change.operator
  const effect = (trx: Trx) => runInChange(deps, trx, { ...fields, merchantId, transactionId, kind }, role)
  if (kind !== 'refund') return runOperatorChange(operatorDb, change, effect)
  const refund = { operator: change.operator, key: change.idempotentRequest.key, currency, amount: fields.amount }
  const outcome = await runWithinQuota(operatorDb, config.refundLimits, refund, (use) =>
    runOperatorChange(operatorDb, change, async (trx) => {
      if (!(await use(trx))) refuseRunning()
      return effect(trx)
    }),
  )
  return requireRefund(outcome)
}

async function runInChange(
  { operations }: Pick<OperationDeps, 'operations'>,
  trx: Trx,
  operation: OperatorOperation,
  role: OperatorRole,
): Promise<OperatorEffect> {
  const { merchantId, transactionId, kind, amount, descriptor, reference } = operation
  const { outcome } = requireOutcome(TRUSTED_CALLER, await operations.runForOperator(trx, operation), valid(operation))
  const transaction: Transaction = outcome.verdict === 'done' ? outcome.transaction : refuseEntry(outcome.refusal, kind)
  // This error rolls back the database transaction of the change, including the refund.
  if (kind === 'refund' && transaction.trail.length > lastRefundOf(role)) throw trailReserved()
  return {
    answer: { transaction: viewTransaction(transaction) },
    object: { kind: 'transaction', id: transactionId },
    merchantId,
    changes: { amount, currency: transaction.currency, descriptor, reference },
  }
}

function requireRefund(outcome: QuotaOutcome<OperatorAnswer>): OperatorAnswer {
  switch (outcome.verdict) {
    case 'done':
      return outcome.done
    case 'key-mismatch':
      return refuseReusedKey()
    case 'not-allowed':
      throw refundNotAllowed()
    case 'exceeded':
      throw refundLimitExceeded({ details: { limit: outcome.limit, left: outcome.left } })
  }
}
