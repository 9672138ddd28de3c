import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/auth-database.ts'
import { toJsonbOrder } from './jsonb-order.ts'

const database = await openTestDatabase()
afterAll(() => database.drop())

describe('toJsonbOrder', () => {
  it('is the order that PostgreSQL gives back', async () => {
    const key = fc.string({ unit: fc.constantFrom('a', 'b', 'B', '1', '_', 'ä', 'é', '€', '😀'), maxLength: 5 })
    const value = fc.dictionary(key, fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.dictionary(key, fc.integer())))
    const cases = fc
      .sample(value, 200)
      .filter((sample) => !/\\u0000|\\ud[89a-f]|__proto__/i.test(JSON.stringify(sample)))
    for (const given of cases) {
      const { rows } = await sql<{ stored: object }>`SELECT ${JSON.stringify(given)}::jsonb AS stored`.execute(
        database.db,
      )
      expect(JSON.stringify(toJsonbOrder(given))).toBe(JSON.stringify(rows[0]?.stored))
    }
  })
})
