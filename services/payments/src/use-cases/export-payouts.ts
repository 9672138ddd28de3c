import type { PaymentsDeps } from '../deps.ts'
import type { OperatorAnswer, OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { toBankFiles } from '../payouts/bank-files.ts'
import { viewBankFiles, viewBatch } from '../payouts/batch-view.ts'
import type { Debtor } from '../payouts/pain-001.ts'
import { callInsertBatch, insertWaitingBatch } from '../payouts/payout-batch-repository.ts'

/** The account that pays the waiting payouts. */
export interface ExportPayoutsInput {
  readonly change: OperatorChange
  readonly debtor: Debtor
}

/**
 * Puts all waiting live payouts into a batch, and answers its files, for an operator (reference: Bank files). A repeat with the same
 * key gets the same files.
 * @throws operatorKeyReused
 */
export function exportPayouts(
  { operatorDb }: Pick<PaymentsDeps, 'operatorDb'>,
  { change, debtor }: ExportPayoutsInput,
): Promise<OperatorAnswer> {
  return runOperatorChange(operatorDb, change, async (trx) => {
    const message = await insertWaitingBatch(trx, debtor, callInsertBatch)
    const object = { kind: 'batch', id: message?.id ?? '' }
    if (!message) return { status: 201, answer: { batch: null, files: [] }, object, changes: { payouts: [] } }
    const payouts = message.transfers.map(({ payoutId }) => payoutId)
    const answer = { batch: viewBatch(message), files: viewBankFiles(toBankFiles(message)) }
    return { status: 201, answer, object, changes: { payouts } }
  })
}
