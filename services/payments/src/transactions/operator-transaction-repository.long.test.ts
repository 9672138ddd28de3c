import type { Pools } from '@trestle/database/pools.ts'
import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { countRowsRead } from '../../test/rows-read.ts'
import { listCurrencies } from '../money/currencies.ts'
import { VALUES_MAX } from '../pagination/list-of-all.ts'
import { HIGHEST, LOWEST } from '../pagination/page-query.ts'
import { findTransactionsOfAll, type TransactionSearch } from './operator-transaction-repository.ts'

const POPULAR = 6_000
/** The number of merchants with one transaction each. They make PostgreSQL estimate few transactions per merchant. */
const OTHERS = 20
const LIMIT = 25

let payments: TestPayments
let busiest: string
beforeAll(async () => {
  payments = await startPayments()
  const member = await createTestApp(payments)
  const shop = await createTestMerchant(payments, member, { currency: 'EUR', test: true })
  busiest = shop.id
  const id = await customerPayment(payments, shop.id, { number: '4111111111114242', amount: 999 })
  const payOther = async () => {
    const other = await createTestMerchant(payments, member, { currency: 'EUR', test: true })
    await customerPayment(payments, other.id, { number: '4111111111114242', amount: 500 })
  }
  await Promise.all(Array.from({ length: OTHERS }, payOther))
  for (let first = 1; first < POPULAR; first += 1_000) await insertMore(id, first, Math.min(first + 999, POPULAR - 1))
  await sql`ANALYZE payments.transactions`.execute(payments.database.db)
})
afterAll(() => payments.close())

/**
 * Inserts copies of a payment. Every second copy is in EUR, with the same card and the same reference. The others are in DKK,
 * with a card of their own and another reference. The three oldest are in USD.
 */
async function insertMore(id: string, first: number, last: number): Promise<void> {
  const more = sql`SELECT made.*
    FROM payments.transactions t, generate_series(${first}::int, ${last}::int) n,
    jsonb_populate_record(t, jsonb_build_object(
      'id', lpad(to_hex(n), 16, '0') || right(t.id, 8), 'session_id', NULL,
      'currency', CASE WHEN n <= 3 THEN 'USD' WHEN n % 2 = 0 THEN 'EUR' ELSE 'DKK' END,
      'last4', CASE WHEN n % 2 = 0 THEN '4242' ELSE lpad(n::text, 4, '0') END,
      'reference', CASE WHEN n % 2 = 0 THEN 'order' ELSE 'other' END
    )) made
    WHERE t.id = ${id}`
  await sql`INSERT INTO payments.transactions ${more}`.execute(payments.database.db)
}

type Asked = Partial<Pick<TransactionSearch, 'search' | 'merchantId' | 'flags' | 'below' | 'limit'>>

/** Returns the input for the newest page of a search. */
function pageOf(asked: Asked): TransactionSearch {
  const page = { limit: LIMIT, above: LOWEST, below: HIGHEST, search: undefined, merchantId: undefined }
  return { ...page, order: 'newest-first', ...asked }
}

/** Reads a page. @returns the ids of the page and the number of rows that PostgreSQL read from `transactions` */
async function readPage(asked: Asked, order: TransactionSearch['order'], from: TestPayments = payments) {
  const read = (pools: Pools) => findTransactionsOfAll(pools, { ...pageOf(asked), order })
  const { found, rows } = await countRowsRead(from, 'transactions', read)
  return { ids: found.map(({ id }) => id), rows }
}

describe('a list without a search', () => {
  it.each<[string, Asked, number]>([
    ['all transactions', {}, LIMIT],
    ['those of test merchants', { flags: { test: true } }, LIMIT],
    ['those of live merchants, which have none', { flags: { test: false } }, 0],
    ['refused payments, of which there are none', { flags: { successful: false } }, 0],
  ])('reads few rows for %s', async (_which, asked, count) => {
    for (const order of ['newest-first', 'oldest-first'] as const) {
      const { ids, rows } = await readPage(asked, order)
      expect(ids).toHaveLength(count)
      expect(rows).toBeLessThanOrEqual(2 * LIMIT)
    }
  })
})

describe('a search among the many transactions of one merchant', () => {
  it.each<[string, Asked, number]>([
    ['digits that no card has', { search: '9999' }, 0],
    ['digits that one card has', { search: '0007' }, 1],
    ['digits that one successful payment has', { search: '0007', flags: { successful: true } }, 1],
    ['an amount that none has', { search: '998' }, 0],
    ['an amount in a currency that few have', { search: 'USD 9.99', flags: { successful: true } }, 3],
    ['a reference that none has', { search: 'zebra' }, 0],
    ['a reference that many have', { search: 'order' }, LIMIT],
    ['refused payments, of which there are none', { flags: { successful: false } }, 0],
  ])('reads few rows for %s', async (_which, asked, count) => {
    for (const order of ['newest-first', 'oldest-first'] as const) {
      const { ids, rows } = await readPage({ ...asked, merchantId: busiest }, order)
      expect(ids).toHaveLength(count)
      expect(rows).toBeLessThanOrEqual(2 * LIMIT)
    }
  })
})

describe('a search among many transactions of one amount', () => {
  it.each<[string, Asked, number]>([
    ['the amount', { search: '999' }, LIMIT],
    ['the amount in major units', { search: '9.99' }, LIMIT],
    ['the amount in a currency that many have', { search: 'EUR 9.99' }, LIMIT],
    ['the amount in a currency that few have', { search: 'USD 9.99' }, 3],
    ['the amount in a currency that none has', { search: 'JPY 999' }, 0],
    ['the amount with decimals that no currency of it has', { search: '0.999' }, 0],
    ['the amount of live merchants, which have none', { search: '999', flags: { test: false } }, 0],
    ['the amount of refused payments, of which there are none', { search: '9.99', flags: { successful: false } }, 0],
    ['the amount of another merchant', { search: 'EUR 9.99', merchantId: UNKNOWN_ID }, 0],
    ['the digits of live merchants, which have none', { search: '4242', flags: { test: false } }, 0],
    ['the reference of live merchants, which have none', { search: 'order', flags: { test: false } }, 0],
  ])('reads few rows for %s', async (_which, asked, count) => {
    for (const order of ['newest-first', 'oldest-first'] as const) {
      const { ids, rows } = await readPage(asked, order)
      expect(ids).toHaveLength(count)
      // Two currencies, and newer rows that do not match, because only every second row has the amount.
      expect(rows).toBeLessThanOrEqual(6 * LIMIT)
    }
  })

  it('finds each transaction once, in the order of its id, over all pages', async () => {
    const seen: string[] = []
    for (;;) {
      const { ids } = await readPage(
        { search: '9.99', below: seen.at(-1) ?? HIGHEST, limit: 10 * LIMIT },
        'newest-first',
      )
      if (ids.length === 0) break
      seen.push(...ids)
    }
    expect([seen.length, seen]).toEqual([POPULAR, seen.toSorted().toReversed()])
  })
})

describe('a search for an amount in every currency', () => {
  const EACH = 40
  const CURRENCIES = listCurrencies().map(({ code }) => code)
  let mixed: TestPayments
  beforeAll(async () => {
    mixed = await startPayments()
    const shop = await createTestMerchant(mixed, await createTestApp(mixed), { currency: 'EUR', test: true })
    const id = await customerPayment(mixed, shop.id, { number: '4111111111114242', amount: 999 })
    const more = sql`SELECT made.*
      FROM payments.transactions t, generate_series(1, ${EACH}::int) n,
      unnest(${CURRENCIES}::text[]) WITH ORDINALITY u (code, c),
      jsonb_populate_record(t, jsonb_build_object(
        'id', lpad(to_hex(n * 1000 + c), 16, '0') || right(t.id, 8), 'session_id', NULL, 'currency', code
      )) made
      WHERE t.id = ${id}`
    await sql`INSERT INTO payments.transactions ${more}`.execute(mixed.database.db)
    await sql`ANALYZE payments.transactions`.execute(mixed.database.db)
  })
  afterAll(() => mixed.close())

  it('reads a page of each currency at most', async () => {
    for (const order of ['newest-first', 'oldest-first'] as const) {
      const { ids, rows } = await readPage({ search: '999' }, order, mixed)
      const direction = order === 'newest-first' ? 'desc' : 'asc'
      const all = mixed.database.db.selectFrom('transactions').select('id').orderBy('id', direction).limit(LIMIT)
      expect(ids).toEqual((await all.execute()).map(({ id }) => id))
      expect(rows).toBeLessThanOrEqual(CURRENCIES.length * LIMIT)
    }
  })

  it('sends few statements', async () => {
    const sent: string[] = []
    await countRowsRead(mixed, 'transactions', (pools) =>
      findTransactionsOfAll(noting(pools, sent), pageOf({ search: '999' })),
    )
    const pages = Array.from(
      { length: Math.ceil(CURRENCIES.length / VALUES_MAX) },
      () => `found_by_money_${VALUES_MAX}_desc_amount`,
    )
    expect(sent.toSorted()).toEqual(['currencies_of_amount', 'found_by_reference_desc_reference', ...pages].toSorted())
  })
})

/** Returns pools that record the names of the queries of the read pool. */
function noting(pools: Pools, sent: string[]): Pools {
  const { read } = pools
  const note = <Query extends { readonly name: string }>(query: Query) => {
    sent.push(query.name)
    return query
  }
  return {
    ...pools,
    read: {
      one: (query, input) => read.one(note(query), input),
      first: (query, input) => read.first(note(query), input),
      all: (query, input) => read.all(note(query), input),
    },
  }
}

describe('a search by a mode among the transactions of one merchant', () => {
  const COUNT = 1_000
  let mixed: TestPayments
  let testShop: string
  let liveShop: string
  beforeAll(async () => {
    mixed = await startPayments()
    const member = await createTestApp(mixed)
    testShop = (await createTestMerchant(mixed, member, { currency: 'EUR', test: true })).id
    liveShop = (await createTestMerchant(mixed, member, { currency: 'EUR', test: false })).id
    await customerPayment(mixed, testShop, { number: '4111111111114242', amount: 999 })
    const insertAs = (table: string, row: RawBuilder<unknown>, numbers: number) =>
      sql`INSERT INTO ${sql.table(`payments.${table}`)} SELECT made.*
        FROM ${sql.table(`payments.${table}`)} t, generate_series(1, ${numbers}::int) n, jsonb_populate_record(t, ${row}) made
        WHERE t.merchant_id = ${testShop}`.execute(mixed.database.db)
    await insertAs('instruments', sql`jsonb_build_object('merchant_id', ${liveShop}::text)`, 1)
    const numbered = sql`'id', lpad(to_hex(n), 16, '0') || right(t.id, 8), 'session_id', NULL, 'reference', 'order'`
    const live = sql`jsonb_build_object(${numbered}, 'merchant_id', ${liveShop}::text, 'test', false, 'acquirer', 'north', 'acquirer_ref', 'ref_1')`
    await insertAs('transactions', live, COUNT)
    await insertAs('transactions', sql`jsonb_build_object(${numbered})`, COUNT)
    await sql`ANALYZE payments.transactions`.execute(mixed.database.db)
  })
  afterAll(() => mixed.close())

  it.each<[string, Omit<Asked, 'flags'>]>([
    ['all payments', {}],
    ['the digits of a card', { search: '4242' }],
    ['an amount', { search: 'EUR 9.99' }],
    ['a reference', { search: 'order' }],
  ])('reads few rows for %s in the mode of the merchant, or none in the other one', async (_which, asked) => {
    for (const order of ['newest-first', 'oldest-first'] as const) {
      for (const [merchantId, test] of [
        [testShop, true],
        [liveShop, false],
      ] as const) {
        const own = await readPage({ ...asked, merchantId, flags: { test } }, order, mixed)
        const other = await readPage({ ...asked, merchantId, flags: { test: !test } }, order, mixed)
        expect([own.ids.length, other]).toEqual([LIMIT, { ids: [], rows: 0 }])
        expect(own.rows).toBeLessThanOrEqual(2 * LIMIT)
      }
    }
  })

  it('reads few rows for refused live payments, of which there are none, beside many refused tests', async () => {
    const { db } = mixed.database
    const refused = { successful: false, error_code: 10, pending: 0n }
    await db.updateTable('transactions').set(refused).where('merchant_id', '=', testShop).execute()
    const flags = { test: false, successful: false }
    for (const order of ['newest-first', 'oldest-first'] as const) {
      expect(await readPage({ flags }, order, mixed)).toEqual({ ids: [], rows: 0 })
    }
  })

  it('finds nothing of an unknown merchant', async () => {
    const { ids } = await readPage({ merchantId: UNKNOWN_ID, flags: { test: true } }, 'newest-first', mixed)
    expect(ids).toEqual([])
  })
})
