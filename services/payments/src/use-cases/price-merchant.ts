import { refuseMissing } from '../access/require-access.ts'
import type { Db } from '../database.ts'
import { viewMerchant } from '../merchants/merchant.ts'
import { findMerchant, updateOperatorSettings } from '../merchants/operator-merchant-repository.ts'
import type { Pricing } from '../merchants/pricing.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'

/** Changes a merchant's fees of future captures, refunds and lost disputes, for an operator. */
export function priceMerchant(
  { operatorDb }: { readonly operatorDb: Db },
  {
    change,
    merchantId,
    pricing,
  }: {
    readonly change: OperatorChange
    readonly merchantId: string
    /** Absent fees do not change. */
    readonly pricing: Partial<Pricing>
  },
): Promise<OperatorAnswer> {
  return runOperatorChange(operatorDb, change, async (trx) => {
    const { merchant } = (await findMerchant(trx, merchantId)) ?? refuseMissing()
    // Change last: a cluster refuses to read rows that an owner's function has written in the same transaction.
    const changed = await updateOperatorSettings(trx, merchantId, { pricing })
    return {
      answer: { merchant: viewMerchant({ ...merchant, pricing: changed.pricing }) },
      object: { kind: 'merchant', id: merchantId },
      merchantId,
      changes: pricing,
    }
  })
}
