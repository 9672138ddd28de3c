import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { type RequestInput, requireAccess, valuesOrNull } from '../access/require-access.ts'
import { immutable, invalidFields } from '../errors.ts'
import type { MerchantChanges } from '../merchants/merchant.ts'
import { callUpdateMerchant } from '../merchants/merchant-repository.ts'

/**
 * Changes the name, email address or descriptor of a merchant (reference: Changing a merchant). If any field is invalid, nothing
 * changes.
 */
export async function updateMerchant(
  { pools }: { readonly pools: Pools },
  {
    caller,
    merchantId,
    input,
    fixed,
  }: {
    readonly caller: Caller
    readonly merchantId: string
    readonly input: RequestInput<MerchantChanges>
    /** Immutable fields as the client sent them, by path. They are present for an invalid request too. */
    readonly fixed: Readonly<Record<string, unknown>>
  },
): Promise<void> {
  const result = await callUpdateMerchant(pools, { caller, merchantId, changes: valuesOrNull(input), fixed })
  requireAccess(caller, result, withImmutable(input, Object.keys(fixed), result.differing))
}

/** Adds errors for changed immutable fields to the errors of other fields, in the order of the body. */
function withImmutable(
  input: RequestInput<MerchantChanges>,
  order: readonly string[],
  differing: readonly string[],
): RequestInput<MerchantChanges> {
  const problem = input.verdict === 'refused' ? input.problem : undefined
  if (differing.length === 0 || problem?.stage === 'parse') return input
  const changed = order.filter((field) => differing.includes(field)).map(immutable)
  const error = invalidFields([...(problem?.fields ?? []), ...changed])
  return { verdict: 'refused', problem: { stage: 'validation', error } }
}
