import type { Pools } from '@trestle/database/pools.ts'
import { refuseMissing } from '../access/require-access.ts'
import type { Acquirers } from '../acquirers/acquirers.ts'
import { giveBackAttempt } from '../acquirers/book-answers.ts'
import type { Db } from '../database.ts'
import { attemptSettled, notTakenBack } from '../operator-errors.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'
import { type AttemptKey, findUnknownAttempt, updateUnknownAttempt } from '../transactions/attempt-repository.ts'
import { viewAttempt } from '../transactions/attempt-view.ts'
import { findAttemptForOperator } from '../transactions/operator-attempt-repository.ts'
import { findAttemptTenant } from '../transactions/transaction-repository.ts'

type ResolveDeps = { readonly acquirers: Acquirers; readonly operatorPools: Pools; readonly operatorDb: Db }

/**
 * Records the outcome of an authorization without a known outcome, for an operator (reference: Attempts). An approved
 * authorization is reversed, because the customer was informed that the payment had failed.
 */
export async function resolveAttempt(
  deps: ResolveDeps,
  {
    change,
    attemptId: id,
    outcome,
  }: {
    readonly change: OperatorChange
    readonly attemptId: string
    readonly outcome: 'approved' | 'declined'
  },
): Promise<OperatorAnswer> {
  const { merchantId } = (await findAttemptTenant(deps.operatorPools, id)) ?? refuseMissing()
  const key = { merchantId, id }
  if (outcome === 'approved') await giveBackUnknown(deps, key)
  return runOperatorChange(deps.operatorDb, change, async (trx) => {
    // Read first: a cluster refuses to read rows that an owner's function has written in the same transaction.
    const attempt = (await findAttemptForOperator(deps.operatorPools, key)) ?? refuseMissing()
    const state = outcome === 'approved' ? 'reversed' : 'declined'
    if (!(await updateUnknownAttempt(trx, key, state))) throw attemptSettled()
    return {
      answer: { attempt: viewAttempt({ ...attempt, state }) },
      object: { kind: 'attempt', id },
      merchantId,
      changes: { outcome },
    }
  })
}

/** Does nothing if the outcome is known: the change refuses the request, or answers an idempotent request. */
async function giveBackUnknown({ acquirers, operatorDb: db }: ResolveDeps, key: AttemptKey): Promise<void> {
  const attempt = await findUnknownAttempt(db, key)
  if (attempt && (await giveBackAttempt({ acquirers, db }, attempt)) !== 'reversed') throw notTakenBack()
}
