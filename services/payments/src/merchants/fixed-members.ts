import { z } from 'zod'
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

/** What a body says of the members that never change, by path: `{ 'company.country': 'DK' }`. Absent ones are left out. */
export function readFixedMembers(body: unknown): Readonly<Record<string, unknown>> {
  const { company, bank, ...members } = FixedMembers.safeParse(body).data ?? {}
  return defined({
    ...members,
    ...read('company', company, ['country', 'number']),
    ...read('bank', bank, ['iban']),
  })
}

function read(name: string, value: unknown, keys: readonly string[]): Record<string, unknown> {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { [name]: value }
  return Object.fromEntries(keys.map((key) => [`${name}.${key}`, normalize(key, Reflect.get(value, key))]))
}

function normalize(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  return key === 'iban' ? normalizeIban(value) : value.trim()
}

function defined(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
