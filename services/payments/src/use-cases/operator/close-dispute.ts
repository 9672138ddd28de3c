import { type Pools, transactionPools } from '@trestle/database/pools.ts'
import { TRUSTED_CALLER } from '../../access/caller.ts'
import { refuseMissing, valid } from '../../access/require-access.ts'
import type { Db } from '../../database.ts'
import { viewDispute } from '../../disputes/dispute.ts'
import { findDisputeOfAll } from '../../disputes/dispute-repository.ts'
import {
  type OperatorAnswer,
  type OperatorChange,
  runOperatorChange,
} from '../../operators/operator-change-repository.ts'
import { closeDispute } from '../close-dispute.ts'

/** Closes a dispute of any merchant, for an operator (reference: Disputes). The same outcome again changes nothing. */
export async function closeDisputeForOperator(
  { operatorDb, operatorPools }: { readonly operatorDb: Db; readonly operatorPools: Pools },
  {
    change,
    disputeId,
    outcome,
  }: {
    readonly change: OperatorChange
    readonly disputeId: string
    readonly outcome: 'won' | 'lost'
  },
): Promise<OperatorAnswer> {
  const { merchantId } = (await findDisputeOfAll(operatorPools, disputeId)) ?? refuseMissing()
  return runOperatorChange(operatorDb, change, async (trx) => {
    const deps = { pools: transactionPools(trx, merchantId) }
    const { dispute } = await closeDispute(deps, { caller: TRUSTED_CALLER, disputeId, input: valid({ outcome }) })
    return {
      answer: { dispute: viewDispute(dispute) },
      object: { kind: 'dispute', id: disputeId },
      merchantId,
      changes: { outcome },
    }
  })
}
