import { refuseMissing } from '../access/require-access.ts'
import { callResolveException } from '../acquirers/exception-repository.ts'
import { viewException } from '../acquirers/exception-view.ts'
import type { Db } from '../database.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'

/** Marks an exception as resolved, for an operator. An exception that is already resolved does not change. */
export function resolveException(
  { operatorDb }: { readonly operatorDb: Db },
  {
    change,
    merchantId,
    id,
    note,
  }: {
    readonly change: OperatorChange
    readonly merchantId: string
    readonly id: string
    /** A description of how the operator resolved the exception. The audit log stores it. */
    readonly note: string | undefined
  },
): Promise<OperatorAnswer> {
  return runOperatorChange(operatorDb, change, async (trx) => {
    const { exception } = (await callResolveException(trx, { merchantId, id })) ?? refuseMissing()
    return {
      answer: { exception: viewException(exception) },
      object: { kind: 'exception', id },
      merchantId,
      changes: { note },
    }
  })
}
