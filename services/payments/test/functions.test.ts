import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statusAndBody } from './bodies.ts'
import { customerPayment } from './customer-payment.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  merchantBody,
  startPayments,
  type TestPayments,
} from './payments-app.ts'
import { countRowsRead } from './rows-read.ts'

let payments: TestPayments
/** The schema's owner, who may replace functions. */
let owner: pg.Client
beforeAll(async () => {
  // In a distributed database, merchants are created one after the other.
  payments = await startPayments({ lockTimeoutMs: 30_000 })
  owner = new pg.Client({ connectionString: payments.url })
  await owner.connect()
})
afterAll(async () => {
  await owner.end()
  await payments.close()
})

async function newIds(count: number): Promise<{ id: string; created: Date }[]> {
  const { rows } = await sql<{ id: string; created: Date }>`
    SELECT ids.* FROM generate_series(1, ${count}::int) n
    CROSS JOIN LATERAL ${sql.table('new_id')}(CASE WHEN n > 0 THEN '89abcdef' END) ids
  `.execute(payments.database.db)
  return rows
}

describe('new_id', () => {
  it('carries the instant of its row, a counter and the tag', async () => {
    const before = Date.now()
    const [newId] = await newIds(1)
    expect(newId?.id).toMatch(/^[0-9a-f]{24}$/)
    expect(newId?.id.slice(16)).toBe('89abcdef')
    expect(newId?.created.toISOString()).toBe(createdOf(newId?.id ?? ''))
    expect(newId?.created.getTime()).toBeGreaterThanOrEqual(before - 1)
    expect(newId?.created.getTime()).toBeLessThanOrEqual(Date.now() + 1)
  })

  it('never repeats, in parallel and at the end of the counter', async () => {
    await owner.query("SELECT setval('payments.id_counter', 1048000)")
    const batches = await Promise.all(Array.from({ length: 8 }, () => newIds(500)))
    const ids = batches.flat().map(({ id }) => id)
    expect(new Set(ids).size).toBe(4_000)
    const counters = ids.map((id) => Number.parseInt(id.slice(11, 16), 16))
    expect(Math.min(...counters)).toBe(0)
    expect(Math.max(...counters)).toBe(1_048_575)
  })
})

describe('id_at', () => {
  it('makes the last id, and refuses a number beyond it rather than begin again', async () => {
    const idAt = async (number: string) => {
      const { rows } = await owner.query(`SELECT payments.id_at(${number}, '89abcdef') AS id`)
      return rows
    }
    const beyond = '4294967296000::bigint * 1048576'
    expect(await idAt(`${beyond} - 1`)).toEqual([{ id: 'ffffffff3e7fffff89abcdef' }])
    await expect(idAt(beyond)).rejects.toHaveProperty('message', 'OID out of range')
  })
})

it('has_acquirer looks at no transaction of another acquirer', async () => {
  const { id } = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR' })
  const source = await customerPayment(payments, id, { number: '4242424242424242' })
  await owner.query(
    `INSERT INTO payments.transactions SELECT made.*
     FROM payments.transactions t, generate_series(1, 500) n, jsonb_populate_record(t, jsonb_build_object(
       'id', lpad(to_hex(n), 16, '0') || right(t.id, 8), 'session_id', NULL, 'acquirer', 'north', 'acquirer_ref', 'n-' || n
     )) made WHERE t.id = $1`,
    [source],
  )
  await owner.query('ANALYZE payments.transactions')
  const ask = (acquirer: string) =>
    countRowsRead(payments, 'transactions', async (_pools, trx) => {
      const { rows } = await sql<{ has: boolean }>`
        SELECT ${sql.table('has_acquirer')}(${id}, ${acquirer}) AS has`.execute(trx)
      return rows[0]?.has
    })
  const [north, south] = [await ask('north'), await ask('south')]
  expect([north.found, south]).toEqual([true, { found: false, rows: 0 }])
  expect(north.rows).toBeLessThanOrEqual(1)
})

describe('create_merchant', () => {
  const create = async (headers: object) => {
    const response = await payments.app.inject({
      method: 'POST',
      url: '/merchants',
      headers: { ...headers },
      payload: merchantBody,
    })
    return { response, status: response.statusCode, id: response.json().merchant?.id ?? '' }
  }

  it('draws the tag again while it is taken', async () => {
    const { headers } = await createTestApp(payments)
    const { id } = await create(headers)
    const [taken, free] = [id.slice(16), '00c0ffee']
    await owner.query(`
      CREATE SEQUENCE payments.test_draws;
      GRANT USAGE ON payments.test_draws TO payments_service;
      CREATE OR REPLACE FUNCTION payments.random_tag() RETURNS text LANGUAGE sql VOLATILE AS $$
        SELECT CASE WHEN nextval('payments.test_draws') <= 3 THEN '${taken}' ELSE '${free}' END $$`)
    const second = await create(headers)
    expect([second.status, second.id.slice(16)]).toEqual([201, free])
    const third = await create(headers)
    expect(statusAndBody(third.response)).toEqual([
      500,
      { code: 'INTERNAL_ERROR', message: 'Something went wrong on our side' },
    ])
    await owner.query(`
      CREATE OR REPLACE FUNCTION payments.random_tag() RETURNS text LANGUAGE sql VOLATILE AS $$
        SELECT right(gen_random_uuid()::text, 8) $$;
      DROP SEQUENCE payments.test_draws`)
  })

  it('gives each merchant its own tag when many are made at once with few tags', async () => {
    const { id: appId, headers } = await createTestApp(payments)
    await owner.query(`
      CREATE OR REPLACE FUNCTION payments.random_tag() RETURNS text LANGUAGE sql VOLATILE AS $$
        SELECT 'aaaaaa' || lpad(to_hex((random() * 60)::int), 2, '0') $$`)
    const answers = await Promise.all(Array.from({ length: 24 }, () => create(headers)))
    await owner.query(`
      CREATE OR REPLACE FUNCTION payments.random_tag() RETURNS text LANGUAGE sql VOLATILE AS $$
        SELECT right(gen_random_uuid()::text, 8) $$`)
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 24 }, () => 201))
    expect(new Set(answers.map(({ id }) => id.slice(16))).size).toBe(24)
    const list = await payments.app.inject({ url: `/identities/${appId}/merchants?limit=1000`, headers })
    expect(new Set(list.json().map(({ id }: { id: string }) => id))).toEqual(new Set(answers.map(({ id }) => id)))
  })

  it('stores nothing when the call only checks access', async () => {
    const { headers } = await createTestApp(payments)
    const count = async () =>
      (
        await owner.query(
          'SELECT (SELECT count(*) FROM payments.merchants) + (SELECT count(*) FROM payments.audit) AS n',
        )
      ).rows
    const before = await count()
    await payments.app.inject({ method: 'POST', url: '/merchants', headers, payload: { currency: 'x' } })
    expect(await count()).toEqual(before)
  })
})
