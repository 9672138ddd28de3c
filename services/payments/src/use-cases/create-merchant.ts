import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { type RequestInput, requireObject, valuesOrNull } from '../access/require-access.ts'
import type { PaymentsConfig } from '../config.ts'
import { DEFAULT_CLAIM, type Merchant, type NewMerchant } from '../merchants/merchant.ts'
import { callCreateMerchant } from '../merchants/merchant-repository.ts'

/** Creates a merchant with the caller as its first member (reference: Creating a merchant). The fees come from the settings. */
export async function createMerchant(
  { pools, config }: { readonly pools: Pools; readonly config: Pick<PaymentsConfig, 'pricing'> },
  { caller, input }: { readonly caller: Caller; readonly input: RequestInput<Omit<NewMerchant, 'claim' | 'pricing'>> },
): Promise<{ readonly merchant: Merchant; readonly replayed: boolean }> {
  const values = valuesOrNull(input)
  const terms = { claim: DEFAULT_CLAIM, pricing: config.pricing }
  const created = await callCreateMerchant(pools, { caller, merchant: values && { ...values, ...terms } })
  const merchant = requireObject(caller, created, { input, name: 'merchant' })
  return { merchant, replayed: created.verdict === 'replayed' }
}
