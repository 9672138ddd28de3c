import { refuseMissing } from '../access/require-access.ts'
import { updateKeysRevoked } from '../apps/app-repository.ts'
import type { Db } from '../database.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'

/** Revokes every key of an app, for an operator. The app's next request is already refused. */
export function revokeKeysOfApp(
  { operatorDb }: { readonly operatorDb: Db },
  { change, appId }: { readonly change: OperatorChange; readonly appId: string },
): Promise<OperatorAnswer> {
  return runOperatorChange(operatorDb, change, async (trx) => {
    const revoked = (await updateKeysRevoked(trx, appId)) ?? refuseMissing()
    return { answer: { revoked }, object: { kind: 'app', id: appId }, changes: { revoked } }
  })
}
