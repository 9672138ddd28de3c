import { type Asked, valuesOrNull } from '../access/asked.ts'
import type { Caller } from '../access/caller.ts'
import { requireObject } from '../access/require-access.ts'
import type { PaymentsDeps } from '../deps.ts'
import { DEFAULT_CLAIM, type Merchant, type NewMerchant } from '../merchants/merchant.ts'
import { callCreateMerchant } from '../merchants/merchant-repository.ts'

/** A new merchant. */
export interface CreateMerchantInput {
  readonly caller: Caller
  readonly asked: Asked<Omit<NewMerchant, 'claim' | 'pricing'>>
}

/**
 * Makes a merchant, and the caller its member (reference: Creating a merchant). Its fees are those of the settings at this time.
 * @returns the merchant, and whether an earlier request with the Idempotency-Key made it
 * @throws what `requireObject` throws
 */
export async function createMerchant(
  { lanes, config }: Pick<PaymentsDeps, 'lanes' | 'config'>,
  { caller, asked }: CreateMerchantInput,
): Promise<{ readonly merchant: Merchant; readonly replayed: boolean }> {
  const values = valuesOrNull(asked)
  const terms = { claim: DEFAULT_CLAIM, pricing: config.pricing }
  const created = await callCreateMerchant(lanes, { caller, merchant: values && { ...values, ...terms } })
  const merchant = requireObject(caller, created, { asked, name: 'merchant' })
  return { merchant, replayed: created.verdict === 'replayed' }
}
