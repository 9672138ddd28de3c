import type { Lanes } from '@trestle/database/lanes.ts'
import { z } from 'zod'
import type { Caller } from '../access/caller.ts'
import { type Flaw, requireAccess } from '../access/require-access.ts'
import { immutable, invalidFields } from '../errors.ts'
import { normalizeIban } from '../merchants/iban.ts'
import type { MerchantChanges } from '../merchants/merchant.ts'
import { callUpdateMerchant } from '../merchants/merchant-repository.ts'
import { isStorable } from '../requests/fields.ts'

/** A change of a merchant; `changes` is null when the body was refused. */
export interface UpdateMerchantInput {
  readonly caller: Caller
  readonly flaw: Flaw | undefined
  readonly merchantId: string
  readonly changes: MerchantChanges | null
  /** Immutable members as the client sent them, by path. */
  readonly fixed: Readonly<Record<string, unknown>>
}

/**
 * Changes name, email address or descriptor of a merchant. Nothing changes when any field is wrong.
 * @throws invalidFields when a member that never changes differs, and what `requireAccess` throws
 */
export async function updateMerchant(
  { lanes }: { readonly lanes: Lanes },
  { caller, flaw, merchantId, changes, fixed }: UpdateMerchantInput,
): Promise<void> {
  const result = await callUpdateMerchant(lanes, { caller, merchantId, changes, fixed })
  requireAccess(caller, result, withImmutable(flaw, Object.keys(fixed), result.differing))
}

/** Adds errors for changed immutable members to the flaw of a body, in the order of the body. */
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

/** The immutable members of a merchant. A client may send them back when they are equal. */
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

/** Replaces values that cannot be stored. It equals no stored value. */
const UNLIKE_ANY = 0
/** Texts that are trimmed when a merchant is made. */
const TRIMMED: ReadonlySet<string> = new Set(['currency', 'website', 'company.country'])

/**
 * Reads the immutable members of a body as they would have been stored, by path: `{ 'company.country': 'DK' }`. Absent
 * ones are left out.
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
