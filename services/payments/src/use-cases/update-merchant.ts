import { admit, type Flaw } from '../access/admit.ts'
import type { Caller } from '../access/caller.ts'
import type { FieldError } from '../bodies/field-error.ts'
import type { PaymentsDeps } from '../deps.ts'
import { invalidFields } from '../error-view.ts'
import type { MerchantChanges } from '../merchants/merchant.ts'
import { callUpdateMerchant } from '../merchants/merchant-repository.ts'

/** What a client wants changed; null when its body was refused. */
export interface UpdateMerchantInput {
  readonly caller: Caller
  readonly flaw: Flaw | undefined
  readonly merchantId: string
  readonly changes: MerchantChanges | null
  /** Members that never change, as the client has them, by path. */
  readonly fixed: Readonly<Record<string, unknown>>
}

/** Changes name, e-mail address or descriptor of a merchant. Nothing changes when any field is wrong. */
export async function updateMerchant(
  { lanes }: Pick<PaymentsDeps, 'lanes'>,
  { caller, flaw, merchantId, changes, fixed }: UpdateMerchantInput,
): Promise<void> {
  const result = await callUpdateMerchant(lanes, { caller, merchantId, changes, fixed })
  admit(caller, result, withImmutable(flaw, Object.keys(fixed), result.differing))
}

/** The flaw of a body whose refused values and changed immutable members are told together, in the order of the body. */
function withImmutable(
  flaw: Flaw | undefined,
  order: readonly string[],
  differing: readonly string[],
): Flaw | undefined {
  if (differing.length === 0 || flaw?.stage === 'parse') return flaw
  const immutable = order
    .filter((field) => differing.includes(field))
    .map((field): FieldError => ({ field, message: 'cannot be changed', code: 'IMMUTABLE' }))
  return { stage: 'validation', error: invalidFields([...(flaw?.fields ?? []), ...immutable]) }
}
