import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { prepareForCaller } from './access-query.ts'

it('has one form for apps, and one for all other callers', () => {
  const query = prepareForCaller('read_thing', ({ fromCaller }) => sql`SELECT 1 ${fromCaller}`)
  const formFor = (keyMac: Buffer | null, userEmail: string | null) =>
    (query.variantFor?.({ keyMac, userEmail }) ?? query).name
  expect(formFor(Buffer.alloc(32), null)).toBe('read_thing_of_app')
  expect(formFor(null, 'ada@example.com')).toBe('read_thing')
  expect(formFor(null, null)).toBe('read_thing')
})
