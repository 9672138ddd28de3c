import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { countAll, countFound } from './count-rows.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.drop())

const series = (count: number): RawBuilder<unknown> => sql`FROM generate_series(1, ${sql.lit(count)}) AS number`
/** For a comparison of two expressions, the planner always estimates a third of the rows. */
const none = (count: number): RawBuilder<unknown> => sql`${series(count)} WHERE number % 2 > number % 3 + 2`

describe('countFound', () => {
  it.each([
    ['nothing', series(0), 0],
    ['the last number that is exact', series(100_000), 100_000],
    ['more, as estimated', series(250_000), 250_000],
    ['nothing, though much is estimated', none(3_000_000), 0],
  ])('counts %s', async (_case, rows, count) => {
    expect(await countFound(database.db, rows)).toBe(count)
  })
})

describe('countAll', () => {
  it.each([
    ['nothing', series(0), 0],
    ['the last number that is exact', series(100_000), 100_000],
    ['much, uncounted: two billion rows would take minutes', series(2_000_000_000), 2_000_000_000],
  ])('counts %s', async (_case, rows, count) => {
    expect(await countAll(database.db, rows)).toBe(count)
  })
})
