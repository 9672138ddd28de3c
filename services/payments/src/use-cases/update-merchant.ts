import type { Lanes } from '@trestle/database/lanes.ts'
import type { Caller } from '../access/caller.ts'
import { type Problem, requireAccess } from '../access/require-access.ts'
import { immutable, invalidFields } from '../errors.ts'
import type { MerchantChanges } from '../merchants/merchant.ts'
import { callUpdateMerchant } from '../merchants/merchant-repository.ts'

/** A change of a merchant; `changes` is null when the body was refused. */
export interface UpdateMerchantInput {
  readonly caller: Caller
  readonly problem: Problem | undefined
  readonly merchantId: string
  readonly changes: MerchantChanges | null
  /** Immutable fields as the client sent them, by path. */
  readonly fixed: Readonly<Record<string, unknown>>
}

/**
 * Changes name, email address or descriptor of a merchant. Nothing changes when any field is wrong.
 * @throws invalidFields when a field that never changes differs, and what `requireAccess` throws
 */
export async function updateMerchant(
  { lanes }: { readonly lanes: Lanes },
  { caller, problem, merchantId, changes, fixed }: UpdateMerchantInput,
): Promise<void> {
  const result = await callUpdateMerchant(lanes, { caller, merchantId, changes, fixed })
  requireAccess(caller, result, withImmutable(problem, Object.keys(fixed), result.differing))
}

/** Adds errors for changed immutable fields to the problem of a body, in the order of the body. */
function withImmutable(
  problem: Problem | undefined,
  order: readonly string[],
  differing: readonly string[],
): Problem | undefined {
  if (differing.length === 0 || problem?.stage === 'parse') return problem
  const changed = order.filter((field) => differing.includes(field)).map(immutable)
  return { stage: 'validation', error: invalidFields([...(problem?.fields ?? []), ...changed]) }
}
