import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { countRowsRead } from '../../test/rows-read.ts'
import { HIGHEST, LOWEST } from '../pagination/page-query.ts'
import { findNewestMerchants, listMerchantsForOperator, type MerchantSearch } from './operator-merchant-repository.ts'

const MERCHANTS = 6_000
const LIMIT = 25
const KEY = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee'
/** At most 501 rows from each of three indexes, the ids and texts of 500 walked rows, and a page. */
const ROWS_MAX = 3 * 501 + 2 * 500 + 100

let payments: TestPayments
/** Ids from the oldest to the newest. */
let ids: readonly string[]
beforeAll(async () => {
  payments = await startPayments()
  const member = await createTestApp(payments)
  const { id } = await createTestMerchant(payments, member, { currency: 'EUR', test: true })
  const { db } = payments.database
  // Name the three oldest merchants `Zebra`, every hundredth one `Seldom`, and the rest of the oldest thousand `Old`. The
  // websites of the oldest thousand begin with a key. Two merchants are live.
  await sql`INSERT INTO payments.merchants SELECT r.*
    FROM payments.merchants m, generate_series(1, ${MERCHANTS}::int) n, jsonb_populate_record(m, jsonb_build_object(
      'id', lpad(to_hex(n), 24, '0'), 'tag', lpad(to_hex(n), 8, '0'), 'key', CASE n WHEN 7 THEN ${KEY}::uuid ELSE gen_random_uuid() END,
      'name', CASE WHEN n <= 3 THEN 'Zebra ' WHEN n % 100 = 0 THEN 'Seldom ' WHEN n <= 1000 THEN 'Old ' ELSE 'Shop ' END || n,
      'test', n NOT IN (4, 5),
      'website', CASE WHEN n <= 1000 THEN ${KEY} ELSE 'https://shop' END || n || '.example', 'email', 'shop' || n || '@example.com'
    )) r WHERE m.id = ${id}`.execute(db)
  await sql`INSERT INTO payments.merchant_balances SELECT r.*
    FROM payments.merchant_balances b, generate_series(1, ${MERCHANTS}::int) n, jsonb_populate_record(b, jsonb_build_object(
      'merchant_id', lpad(to_hex(n), 24, '0')
    )) r WHERE b.merchant_id = ${id}`.execute(db)
  await sql`DELETE FROM payments.merchant_balances WHERE merchant_id = ${id}`.execute(db)
  await sql`ANALYZE payments.merchants`.execute(db)
  ids = Array.from({ length: MERCHANTS }, (_, index) => (index + 1).toString(16).padStart(24, '0'))
})
afterAll(() => payments.close())

async function find(asked: Partial<MerchantSearch>) {
  const page = { limit: LIMIT, above: LOWEST, below: HIGHEST, test: undefined, search: undefined }
  const search = { ...page, order: 'newest-first' as const, ...asked }
  const { found, rows } = await countRowsRead(payments, 'merchants', (pools) => listMerchantsForOperator(pools, search))
  return { ids: found.rows.map(({ merchant }) => merchant.id), cutAt: found.cutAt, rows }
}

const numbered = (numbers: readonly number[]) => numbers.map((number) => ids[number - 1])
const old = Array.from({ length: 1_000 }, (_, index) => 1_000 - index).filter((n) => n > 3 && n % 100 !== 0)
const seldom = Array.from({ length: MERCHANTS / 100 }, (_, index) => MERCHANTS - 100 * index)

describe('a search among many merchants', () => {
  it('finds each text that it searches by an index', async () => {
    const { rows } = await sql<{ indexdef: string }>`
      SELECT indexdef FROM pg_indexes WHERE schemaname = 'payments' AND tablename = 'merchants'`.execute(
      payments.owner.db,
    )
    const searched = rows.map(({ indexdef }) => /lower\("left"\((\w+), 255\)\)/.exec(indexdef)?.[1]).filter(Boolean)
    expect(searched.toSorted()).toEqual(['email', 'name', 'website'])
  })

  it.each<[string, Partial<MerchantSearch>, () => readonly (string | undefined)[]]>([
    ['a beginning that nearly all have', { search: 'HTTPS' }, () => ids.slice(-LIMIT).toReversed()],
    ['a beginning that most have', { search: 'shop' }, () => ids.slice(-LIMIT).toReversed()],
    ['a beginning that most have, in test mode', { search: 's', test: true }, () => ids.slice(-LIMIT).toReversed()],
    ['the oldest with it', { search: 's', order: 'oldest-first' }, () => ids.slice(0, LIMIT)],
    ['a beginning that some have', { search: 'Seldom' }, () => numbered(seldom.slice(0, LIMIT))],
    ['a beginning that few have', { search: 'zebra' }, () => numbered([3, 2, 1])],
    ['those of them before another', { search: 'zebra', below: '000000000000000000000003' }, () => numbered([2, 1])],
    [
      'the oldest with a beginning that many old ones have',
      { search: 'old', order: 'oldest-first' },
      () => numbered(old.toReversed().slice(0, LIMIT)),
    ],
    ['those of them in live mode', { search: 'old', test: false }, () => numbered([5, 4])],
    ['all in live mode', { test: false }, () => numbered([5, 4])],
    ['all in test mode', { test: true }, () => ids.slice(-LIMIT).toReversed()],
    ['a beginning that none has', { search: 'x' }, () => []],
    ['an id', { search: '00000000000000000000000a' }, () => numbered([10])],
    ['a key that the websites of many begin with', { search: KEY }, () => numbered([7])],
  ])('looks at few rows for %s', async (_which, asked, expected) => {
    const { ids: found, cutAt, rows } = await find(asked)
    expect({ found, cutAt }).toEqual({ found: expected(), cutAt: undefined })
    expect(rows).toBeLessThan(ROWS_MAX)
  })

  it('ends a page with the walk where many old ones have a beginning, and finds some of them', async () => {
    const { rows, ...page } = await find({ search: 'old' })
    // The walk reads 500 rows: the merchant that the others are copied from, and the 499 newest copies.
    expect(page).toEqual({ ids: [], cutAt: ids.at(-499) })
    expect(rows).toBeLessThan(ROWS_MAX)
    const search = { search: 'old', limit: LIMIT, above: LOWEST, below: HIGHEST, order: 'newest-first' } as const
    const some = await countRowsRead(payments, 'merchants', (pools) =>
      findNewestMerchants(pools, { ...search, test: undefined }),
    )
    expect(some.found.map(({ merchant }) => merchant.name)).toEqual(
      Array.from({ length: LIMIT }, () => expect.stringMatching(/^Old /)),
    )
    expect(some.rows).toBeLessThan(ROWS_MAX)
  })

  it('finds each merchant once, in the order of its id, over all pages', async () => {
    const matching = ids.filter((_, index) => `shop${index + 1}`.startsWith('shop1')).toReversed()
    for (const [search, expected] of Object.entries({
      seldom: numbered(seldom),
      shop1: matching,
      old: numbered(old),
    })) {
      const seen: string[] = []
      for (let below: string | undefined = HIGHEST; below !== undefined; ) {
        const page: Awaited<ReturnType<typeof find>> = await find({ search, below })
        seen.push(...page.ids)
        below = page.cutAt ?? page.ids.at(-1)
      }
      expect(seen).toEqual(expected)
    }
  })
})
