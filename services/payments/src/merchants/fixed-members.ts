import { z } from 'zod'
import { isStorable } from '../bodies/fields.ts'
import { normalizeIban } from './iban.ts'

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
