import type { PaymentsConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { executionDateClosed } from '../errors.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'
import { isBankDay } from '../payouts/bank-days.ts'
import { toBankFiles, viewBankFiles, viewBatch } from '../payouts/bank-files.ts'
import type { Debtor } from '../payouts/pain-001.ts'
import { BATCH_PAYOUTS_MAX, callInsertBatch, insertWaitingBatch } from '../payouts/payout-batch-repository.ts'

/**
 * Puts waiting live payouts into a batch, for an operator. Returns the files of the batch and the number of payouts that still
 * wait (reference: Bank files). An idempotent request with the same key gets the same files.
 */
export function exportPayouts(
  {
    operatorDb,
    config,
    now,
  }: { readonly operatorDb: Db; readonly config: Pick<PaymentsConfig, 'payouts'>; readonly now: () => Date },
  {
    change,
    debtor,
    executionDate,
  }: {
    readonly change: OperatorChange
    readonly debtor: Debtor
    readonly executionDate: string | undefined
  },
): Promise<OperatorAnswer> {
  const { version, timeZone, address } = config.payouts
  return runOperatorChange(operatorDb, change, async (trx) => {
    if (executionDate !== undefined && !isBankDay(executionDate, { moment: now(), timeZone }))
      throw executionDateClosed()
    const wanted = { debtor: { ...debtor, address }, version, timeZone, executionDate, payoutsMax: BATCH_PAYOUTS_MAX }
    const { message, waiting, held } = await insertWaitingBatch(trx, wanted, callInsertBatch)
    const object = { kind: 'batch', id: message?.id ?? '' }
    const left = held.length === 0 ? { waiting } : { waiting, held }
    if (!message) return { answer: { batch: null, files: [], ...left }, object, changes: { payouts: [] } }
    const payouts = message.transfers.map(({ payoutId }) => payoutId)
    const answer = { batch: viewBatch(message), files: viewBankFiles(toBankFiles(message)), ...left }
    return { answer, object, changes: { payouts } }
  })
}
