import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { keyMac } from '../src/apps/app.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  testPepper,
  UNKNOWN_ID,
} from './payments-app.ts'

let payments: TestPayments
let app: TestApp
let merchantId: string
/** The owner of the schema, in transactions of its own. */
let owner: pg.Client
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  owner = new pg.Client({ connectionString: payments.url })
  await owner.connect()
})
beforeEach(async () => {
  merchantId = (await createTestMerchant(payments, app)).id
})
afterAll(async () => {
  await owner.end()
  await payments.close()
})

async function one<Row>(query: ReturnType<typeof sql<Row>>): Promise<Row> {
  const { rows } = await query.execute(payments.database.db)
  const [row] = rows
  if (!row) throw new Error('no row')
  return row
}

describe('take_ids', () => {
  const take = (count: number) =>
    one(sql<{ ids: string[] }>`
    SELECT array(SELECT ${sql.table('id_at')}(t.first + n, t.tag) FROM generate_series(0, ${count}::int - 1) n) AS ids
    FROM ${sql.table('take_ids')}(${merchantId}, ${count}) t`)
  const setLast = (id: string) =>
    owner.query('UPDATE payments.merchant_balances SET last_id = $2 WHERE merchant_id = $1', [merchantId, id])

  it('makes ids of the clock and the tag, which can be read back from an id', async () => {
    const [id = ''] = (await take(1)).ids
    const { number, again, created } = await one(sql<{ number: bigint; again: string; created: Date }>`
      SELECT n AS number, ${sql.table('id_at')}(n, right(${id}, 8)) AS again, ${sql.table('created_at')}(n) AS created
      FROM ${sql.table('id_number')}(${id}) n`)
    expect(again).toBe(id)
    expect(id.slice(16)).toBe(merchantId.slice(16))
    expect(created.getTime()).toBe(Number(number >> 20n))
    expect(Math.abs(created.getTime() - Date.now())).toBeLessThan(5_000)
  })

  it('gives rising ids to many calls at once, each id to one caller', async () => {
    const calls = await Promise.all(Array.from({ length: 50 }, () => take(7)))
    const ids = calls.flatMap(({ ids }) => ids)
    expect(new Set(ids).size).toBe(350)
    for (const { ids } of calls) expect(ids).toEqual(ids.toSorted())
    const { last_id } = await one(sql<{ last_id: string }>`
      SELECT last_id FROM ${sql.table('merchant_balances')} WHERE merchant_id = ${merchantId}`)
    expect(last_id).toBe(ids.toSorted().at(-1))
  })

  it.each([
    ['over the end of a millisecond', 'fe00000000cfffff', 'fe00000000d00000'],
    ['over the end of a second', 'fe0000003e7fffff', 'fe00000100000000'],
    ['within a millisecond', 'fe0000003e700009', 'fe0000003e70000a'],
  ])('continues from the last id when the clock is behind it: %s', async (_, last, next) => {
    const tag = merchantId.slice(16)
    await setLast(last + tag)
    expect((await take(2)).ids[0]).toBe(next + tag)
  })
})

describe('judge_access', () => {
  const judge = (keyMac: Buffer | null, userEmail: string | null, id: string | null) =>
    one(sql<{ verdict: string }>`
    SELECT verdict FROM ${sql.table('judge_access')}(
      ROW(${keyMac}::bytea, ${userEmail}::text, NULL, NULL, NULL, NULL)::${sql.table('caller')}, ${id})`)

  it('judges key, object and membership in this order', async () => {
    const [member, stranger] = [keyMac(testPepper, app.key), keyMac(testPepper, (await createTestApp(payments)).key)]
    expect(await judge(keyMac(testPepper, 'x'), null, merchantId)).toEqual({ verdict: 'unauthorized' })
    expect(await judge(null, null, merchantId)).toEqual({ verdict: 'unauthorized' })
    expect(await judge(stranger, null, UNKNOWN_ID)).toEqual({ verdict: 'not-found' })
    expect(await judge(stranger, null, null)).toEqual({ verdict: 'not-found' })
    expect(await judge(stranger, null, merchantId)).toEqual({ verdict: 'forbidden' })
    expect(await judge(member, null, merchantId)).toEqual({ verdict: 'done' })
  })

  it('finds a user by a verified email address in any case', async () => {
    await owner.query(
      `INSERT INTO payments.users (id, email, created) VALUES ('aaaaaaaaaaaaaaaaaaaaaaaa', 'Ada@example.com', now())`,
    )
    expect(await judge(null, 'ada@EXAMPLE.com', merchantId)).toEqual({ verdict: 'forbidden' })
    const join =
      'INSERT INTO payments.merchant_users (merchant_id, user_id, pending, created) VALUES ($1, $2, true, now())'
    await owner.query(join, [merchantId, 'a'.repeat(24)])
    expect(await judge(null, 'ada@example.com', merchantId)).toEqual({ verdict: 'forbidden' })
    await owner.query('UPDATE payments.merchant_users SET pending = false')
    expect(await judge(null, 'ada@example.com', merchantId)).toEqual({ verdict: 'done' })
    expect(await judge(null, 'bob@example.com', merchantId)).toEqual({ verdict: 'unauthorized' })
  })
})

describe('owners', () => {
  const owners = async (id: string) =>
    (await sql<{ merchant_id: string }>`SELECT * FROM ${sql.table('owners')}(${id})`.execute(payments.database.db)).rows

  it('finds a merchant by the tag of an id, or by its alias', async () => {
    expect(await owners(`0123456789abcdef${merchantId.slice(16)}`)).toEqual([{ merchant_id: merchantId }])
    expect(await owners(UNKNOWN_ID)).toEqual([])
    await owner.query('INSERT INTO payments.id_aliases VALUES ($1, $2)', [UNKNOWN_ID, merchantId])
    expect(await owners(UNKNOWN_ID)).toEqual([{ merchant_id: merchantId }])
  })
})

describe('claim_key', () => {
  const caller = (key: string | null, fingerprint = 1) =>
    sql`ROW(NULL, NULL, 'POST', '/x', ${key}::text, ${Buffer.alloc(32, fingerprint)}::bytea)::${sql.table('caller')}`
  const claim = (key: string | null, fingerprint?: number) =>
    one(sql<{ verdict: string; status: number | null; object_id: string | null; body: string | null }>`
      SELECT verdict, (held).status, (held).object_id, (held).body
      FROM ${sql.table('claim_key')}(${caller(key, fingerprint)}, ${merchantId}, ${app.id})`)
  const held = { status: null, object_id: null, body: null }

  it('claims a key once, and then answers its result', async () => {
    expect(await claim('a')).toEqual({ verdict: 'claimed', ...held })
    expect(await claim('a')).toEqual({ verdict: 'key-running', status: null, object_id: null, body: null })
    expect(await claim('a', 2)).toEqual({ verdict: 'key-mismatch', status: null, object_id: null, body: null })
    await sql`SELECT ${sql.table('finish_key')}(
      ${caller('a')}, ${merchantId}, ${app.id}, 201, ${UNKNOWN_ID}, NULL, 'body')`.execute(payments.database.db)
    expect(await claim('a')).toEqual({ verdict: 'replayed', status: 201, object_id: UNKNOWN_ID, body: 'body' })
  })

  it('claims a released key again, and nothing without a key', async () => {
    expect(await claim('b')).toEqual({ verdict: 'claimed', ...held })
    await sql`SELECT ${sql.table('release_key')}(${caller('b')}, ${merchantId}, ${app.id})`.execute(
      payments.database.db,
    )
    expect(await claim('b')).toEqual({ verdict: 'claimed', ...held })
    expect([await claim(null), await claim(null)]).toEqual([
      { verdict: 'claimed', ...held },
      { verdict: 'claimed', ...held },
    ])
  })

  it('gives the key to one of many calls at once, while the others wait', async () => {
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => claim('c')))
    expect(verdicts.filter(({ verdict }) => verdict === 'claimed')).toHaveLength(1)
    expect(verdicts.filter(({ verdict }) => verdict === 'key-running')).toHaveLength(19)
  })

  it('fails with 55P03 behind a database transaction that does not end', async () => {
    await owner.query('BEGIN')
    await owner.query(`SELECT payments.claim_key(ROW(NULL, NULL, 'POST', '/x', 'd', $3)::payments.caller, $1, $2)`, [
      merchantId,
      app.id,
      Buffer.alloc(32, 1),
    ])
    await expect(claim('d')).rejects.toHaveProperty('code', '55P03')
    await owner.query('ROLLBACK')
    expect(await claim('d')).toEqual({ verdict: 'claimed', ...held })
  })
})

describe('add_event', () => {
  const add = (id: string) =>
    sql`
    SELECT ${sql.table('add_event')}(${merchantId}, ${id}, now(), 'merchant.updated', ${merchantId}, '{"a":1}')`.execute(
      payments.database.db,
    )
  const waiting = async () =>
    (await sql`SELECT id, kind, payload FROM ${sql.table('outbox')}`.execute(payments.database.db)).rows

  it('writes one job, and only when there is a webhook', async () => {
    await add('1'.repeat(24))
    expect(await waiting()).toEqual([])
    await owner.query(
      `INSERT INTO payments.webhooks (merchant_id, id, created, url, events, secret_sealed)
       VALUES ($1, repeat('2', 24), now(), 'https://x', '{}', '')`,
      [merchantId],
    )
    await add('3'.repeat(24))
    expect(await waiting()).toEqual([{ id: '3'.repeat(24), kind: 'event', payload: {} }])
    await sql`SELECT ${sql.table('enqueue')}(${merchantId}, ${'3'.repeat(24)}, 'other', '{}')`.execute(
      payments.database.db,
    )
    expect(await waiting()).toHaveLength(1)
  })
})
