import { admit, type Caller, type Flaw } from '../access/admit.ts'
import type { PaymentsDeps } from '../deps.ts'
import { DEFAULT_CLAIM, type Merchant, type NewMerchant } from '../merchants/merchant.ts'
import { callCreateMerchant } from '../merchants/merchant-repository.ts'

/** What a client says of a new merchant; null when its body was refused. */
export interface CreateMerchantInput {
  readonly caller: Caller
  readonly flaw: Flaw | undefined
  readonly merchant: Omit<NewMerchant, 'claim' | 'pricing'> | null
}

/** Makes a merchant, of which the caller becomes a member. Its fees are those of the settings at this time. */
export async function createMerchant(
  { lanes, pricing }: Pick<PaymentsDeps, 'lanes' | 'pricing'>,
  { caller, flaw, merchant }: CreateMerchantInput,
): Promise<Merchant> {
  const values = merchant && { ...merchant, claim: DEFAULT_CLAIM, pricing }
  const result = await callCreateMerchant(lanes, { keyMac: caller.keyMac, merchant: values })
  const created = admit(caller, result, flaw).merchant
  if (!created) throw new Error('create_merchant answered done without a merchant')
  return created
}
