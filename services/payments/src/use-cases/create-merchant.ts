import type { Caller } from '../access/caller.ts'
import { type Problem, requireAccess } from '../access/require-access.ts'
import type { PaymentsDeps } from '../deps.ts'
import { DEFAULT_CLAIM, type Merchant, type NewMerchant } from '../merchants/merchant.ts'
import { callCreateMerchant } from '../merchants/merchant-repository.ts'

/** A new merchant; `merchant` is null when the body was refused. */
export interface CreateMerchantInput {
  readonly caller: Caller
  readonly problem: Problem | undefined
  readonly merchant: Omit<NewMerchant, 'claim' | 'pricing'> | null
}

/**
 * Makes a merchant, and the caller its member. Its fees are those of the settings at this time. A repeat finds the
 * merchant of the first request.
 * @throws what `requireAccess` throws
 */
export async function createMerchant(
  { lanes, pricing }: Pick<PaymentsDeps, 'lanes' | 'pricing'>,
  { caller, problem, merchant: given }: CreateMerchantInput,
): Promise<{ readonly merchant: Merchant; readonly replayed: boolean }> {
  const values = given && { ...given, claim: DEFAULT_CLAIM, pricing }
  const { merchant, verdict } = requireAccess(
    caller,
    await callCreateMerchant(lanes, { caller, merchant: values }),
    problem,
  )
  if (!merchant) throw new Error(`create_merchant answered ${verdict} without a merchant`)
  return { merchant, replayed: verdict === 'replayed' }
}
