import { transactionPools } from '@trestle/database/pools.ts'
import { TRUSTED_CALLER } from '../../access/caller.ts'
import { valid } from '../../access/require-access.ts'
import type { PaymentsConfig } from '../../config.ts'
import type { Db } from '../../database.ts'
import {
  type OperatorAnswer,
  type OperatorChange,
  runOperatorChange,
} from '../../operators/operator-change-repository.ts'
import { advanceClock } from '../advance-clock.ts'

/** Advances the clock of any test merchant, for an operator (reference: Test clock). */
export function advanceClockForOperator(
  { operatorDb, config }: { readonly operatorDb: Db; readonly config: Pick<PaymentsConfig, 'dayLimits'> },
  {
    change,
    merchantId,
    advance,
  }: {
    readonly change: OperatorChange
    readonly merchantId: string
    /** In seconds. */
    readonly advance: number
  },
): Promise<OperatorAnswer> {
  return runOperatorChange(operatorDb, change, async (trx) => {
    const deps = { config, pools: transactionPools(trx) }
    const { now } = await advanceClock(deps, { caller: TRUSTED_CALLER, merchantId, input: valid({ advance }) })
    return {
      answer: { clock: { now: now.toISOString() } },
      object: { kind: 'merchant', id: merchantId },
      merchantId,
      changes: { advance },
    }
  })
}
