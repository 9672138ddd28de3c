import type { PaymentsDeps } from '../deps.ts'
import type { OperatorAnswer, OperatorChange } from '../operators/operator-change.ts'
import { runOperatorChange } from '../operators/operator-change-repository.ts'
import { toBankFiles } from '../payouts/bank-files.ts'
import { viewBankFiles, viewBatch } from '../payouts/batch-view.ts'
import type { Debtor } from '../payouts/pain-001.ts'
import { BATCH_PAYOUTS_MAX, callInsertBatch, insertWaitingBatch } from '../payouts/payout-batch-repository.ts'

/** The account that pays the waiting payouts. */
export interface ExportPayoutsInput {
  readonly change: OperatorChange
  readonly debtor: Debtor
}

/**
 * Puts waiting live payouts into a batch, and answers its files and how many payouts still wait, for an operator (reference: Bank
 * files). A repeat with the same key gets the same files.
 * @throws idempotencyKeyReused, and Error for a waiting payout that was changed by hand, or that a batch has already
 */
export function exportPayouts(
  { operatorDb }: Pick<PaymentsDeps, 'operatorDb'>,
  { change, debtor }: ExportPayoutsInput,
): Promise<OperatorAnswer> {
  return runOperatorChange(operatorDb, change, async (trx) => {
    const wanted = { debtor, payoutsMax: BATCH_PAYOUTS_MAX }
    const made = await insertWaitingBatch(trx, wanted, callInsertBatch)
    const object = { kind: 'batch', id: made?.message.id ?? '' }
    if (!made) return { answer: { batch: null, files: [], waiting: 0 }, object, changes: { payouts: [] } }
    const { message, waiting } = made
    const payouts = message.transfers.map(({ payoutId }) => payoutId)
    const answer = { batch: viewBatch(message), files: viewBankFiles(toBankFiles(message)), waiting }
    return { answer, object, changes: { payouts } }
  })
}
