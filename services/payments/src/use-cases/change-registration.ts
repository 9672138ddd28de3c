import { callChangeRegistration } from '../apps/app-repository.ts'
import type { PaymentsConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'

/**
 * Closes the registration of apps for an operator, or opens it again. No app is registered after the answer: the next
 * request at any process reads it in the database, and the requests that have begun are waited for.
 */
export function changeRegistration(
  { operatorDb, config }: { readonly operatorDb: Db; readonly config: Pick<PaymentsConfig, 'registration'> },
  { change, isClosed }: { readonly change: OperatorChange; readonly isClosed: boolean },
): Promise<OperatorAnswer> {
  return runOperatorChange(operatorDb, change, async (trx) => {
    await callChangeRegistration(trx, isClosed)
    return {
      answer: { registration: { mode: config.registration, isClosed } },
      object: { kind: 'registration', id: 'apps' },
      changes: { isClosed },
    }
  })
}
