import { type Pools, transactionPools } from '@trestle/database/pools.ts'
import { TRUSTED_CALLER } from '../../access/caller.ts'
import { refuseMissing, valid } from '../../access/require-access.ts'
import type { Db } from '../../database.ts'
import { type NewDispute, viewDispute } from '../../disputes/dispute.ts'
import {
  type OperatorAnswer,
  type OperatorChange,
  runOperatorChange,
} from '../../operators/operator-change-repository.ts'
import { findTransactionTenant } from '../../transactions/transaction-repository.ts'
import { openDispute } from '../open-dispute.ts'

/**
 * Opens a dispute about a transaction of any merchant, for an operator (reference: Disputes). The amount may exceed the captured
 * amount. A reference of the acquirer opens only one dispute. If the reference is known, the answer is its existing dispute.
 */
export async function openDisputeForOperator(
  { operatorDb, operatorPools }: { readonly operatorDb: Db; readonly operatorPools: Pools },
  {
    change,
    transactionId,
    dispute: wanted,
  }: {
    readonly change: OperatorChange
    readonly transactionId: string
    readonly dispute: NewDispute
  },
): Promise<OperatorAnswer> {
  const { merchantId } = (await findTransactionTenant(operatorPools, transactionId)) ?? refuseMissing()
  return runOperatorChange(operatorDb, change, async (trx) => {
    const deps = { pools: transactionPools(trx, merchantId) }
    const { dispute } = await openDispute(deps, { caller: TRUSTED_CALLER, transactionId, input: valid(wanted) })
    const { id, amount, currency, excess } = dispute
    return {
      answer: { dispute: viewDispute(dispute) },
      object: { kind: 'dispute', id },
      merchantId,
      changes: {
        transactionId,
        amount: Number(amount),
        currency,
        ...(excess === 0n ? {} : { excess: Number(excess) }),
        reference: wanted.acquirerRef,
      },
    }
  })
}
