import { z } from 'zod'
import { admit, type Flaw } from '../access/admit.ts'
import type { Caller } from '../access/caller.ts'
import { isStorable } from '../bodies/fields.ts'
import type { PaymentsDeps } from '../deps.ts'
import { immutable, invalidFields } from '../errors.ts'
import { normalizeIban } from '../merchants/iban.ts'
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
  const changed = order.filter((field) => differing.includes(field)).map(immutable)
  return { stage: 'validation', error: invalidFields([...(flaw?.fields ?? []), ...changed]) }
}

const anything = () => z.unknown().optional()

/** The members of a merchant that never change. A client may send them back as long as they are equal. */
export const FixedMembers = z.object({
  id: anything(),
  key: anything(),
  currency: anything(),
  test: z.boolean().or(z.unknown()).optional(),
  website: anything(),
  company: z.object({ country: anything(), number: anything() }).or(z.unknown()).optional(),
  bank: z.object({ iban: anything() }).or(z.unknown()).optional(),
  created: anything(),
})

/** Stands for what no stored member can be: it is equal to none of them. */
const UNLIKE_ANY = 0
/** The texts that a new merchant has trimmed. */
const TRIMMED: ReadonlySet<string> = new Set(['currency', 'website', 'company.country'])

/**
 * What a body says of the members that never change, by path, as it would have been stored: `{ 'company.country': 'DK' }`.
 * Absent ones are left out.
 */
export function readFixedMembers(body: unknown): Readonly<Record<string, string | boolean | number>> {
  const { company, bank, ...members } = FixedMembers.safeParse(body).data ?? {}
  const given = { ...members, ...read('company', company, ['country', 'number']), ...read('bank', bank, ['iban']) }
  return Object.fromEntries(
    Object.entries(given).flatMap(([path, value]) => (value === undefined ? [] : [[path, toStored(path, value)]])),
  )
}

function read(name: string, value: unknown, keys: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { [name]: value }
  return Object.fromEntries(keys.map((key) => [`${name}.${key}`, Reflect.get(value, key)]))
}

function toStored(path: string, value: unknown): string | boolean | number {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string' || !isStorable(value)) return UNLIKE_ANY
  if (path === 'bank.iban') return normalizeIban(value)
  return TRIMMED.has(path) ? value.trim() : value
}
