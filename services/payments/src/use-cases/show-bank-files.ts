import type { Operator } from '@trestle/operators/operator.ts'
import type { z } from 'zod'
import { refuseMissing } from '../access/require-access.ts'
import type { Db } from '../database.ts'
import { batchChanged } from '../operator-errors.ts'
import { insertOperatorRead } from '../operators/operator-audit-repository.ts'
import { type BankFilesView, toBankFiles, viewBankFiles } from '../payouts/bank-files.ts'
import { readBatch } from '../payouts/payout-batch-repository.ts'

/**
 * Returns the files of a batch again, byte for byte the same, for an operator. The audit log records this, because the bank may
 * receive the files twice.
 */
export async function showBankFiles(
  { operatorDb }: { readonly operatorDb: Db },
  { operator, batchId: id }: { readonly operator: Operator; readonly batchId: string },
): Promise<z.infer<typeof BankFilesView>> {
  const found = await readBatch(operatorDb, id)
  switch (found.verdict) {
    case 'unknown':
      return refuseMissing()
    case 'changed':
      throw batchChanged({ cause: new Error(found.reason) })
    case 'as-exported':
      await insertOperatorRead(operatorDb, { operator, action: 'payouts.export', object: { kind: 'batch', id } })
      return viewBankFiles(toBankFiles(found.message))
  }
}
