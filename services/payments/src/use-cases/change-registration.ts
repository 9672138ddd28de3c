import { callChangeRegistration } from '../apps/app-repository.ts'
import type { PaymentsConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'

/**
 * Closes or reopens the registration of apps, for an operator. If registration is closed, no app is registered after the answer.
 * This call waits for requests that have begun, and each later request in any process reads the state from the database.
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
