import type { Lanes } from '@trestle/database/lanes.ts'
import { type Asked, valuesOrNull } from '../access/asked.ts'
import type { Caller } from '../access/caller.ts'
import { requireAccess } from '../access/require-access.ts'
import { immutable, invalidFields } from '../errors.ts'
import type { MerchantChanges } from '../merchants/merchant.ts'
import { callUpdateMerchant } from '../merchants/merchant-repository.ts'

/** A change of a merchant. */
export interface UpdateMerchantInput {
  readonly caller: Caller
  readonly merchantId: string
  readonly asked: Asked<MerchantChanges>
  /** Immutable fields as the client sent them, by path; also those of a refused request. */
  readonly fixed: Readonly<Record<string, unknown>>
}

/**
 * Changes name, email address or descriptor of a merchant (reference: Changing a merchant). Nothing changes when any field is wrong.
 * @throws invalidFields when a field that never changes differs, and what `requireAccess` throws
 */
export async function updateMerchant(
  { lanes }: { readonly lanes: Lanes },
  { caller, merchantId, asked, fixed }: UpdateMerchantInput,
): Promise<void> {
  const result = await callUpdateMerchant(lanes, { caller, merchantId, changes: valuesOrNull(asked), fixed })
  requireAccess(caller, result, withImmutable(asked, Object.keys(fixed), result.differing))
}

/** Refuses changed immutable fields, beside the fields that are refused already, in the order of the body. */
function withImmutable(
  asked: Asked<MerchantChanges>,
  order: readonly string[],
  differing: readonly string[],
): Asked<MerchantChanges> {
  const problem = asked.verdict === 'refused' ? asked.problem : undefined
  if (differing.length === 0 || problem?.stage === 'parse') return asked
  const changed = order.filter((field) => differing.includes(field)).map(immutable)
  const error = invalidFields([...(problem?.fields ?? []), ...changed])
  return { verdict: 'refused', problem: { stage: 'validation', error } }
}
