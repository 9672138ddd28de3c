import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import { operatorHeaders, testOperators } from '../../test/operators.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'

const [ONE, TWO] = ['192.0.2.1', '192.0.2.2']
let payments: TestPayments
let app: TestApp
let path: string
beforeAll(async () => {
  payments = await startPayments({ lockTimeoutMs: 30_000, operators: testOperators })
  app = await createTestApp(payments)
  path = `/merchants/${(await createTestMerchant(payments, app)).id}`
})
afterAll(() => payments.close())

const ask = (url: string, remoteAddress: string) => payments.app.inject({ url, remoteAddress, headers: app.headers })

const asOperator = (url: string, role: 'viewer' | 'support', headers: object = {}) =>
  payments.app.inject({ url, headers: { ...operatorHeaders(role), ...headers } })
const download = (url: string) => asOperator(url, 'viewer', { accept: 'text/csv' })

describe('long lists', () => {
  it('200: run one after the other for one client, while no other client waits', async () => {
    const answered: string[] = []
    const get = async (list: string, address: string) => {
      const { statusCode } = await ask(`${path}/${list}`, address)
      answered.push(`${statusCode} ${list}`)
    }
    const held = await payments.database.db.startTransaction().execute()
    await sql`LOCK TABLE payments.transactions IN ACCESS EXCLUSIVE MODE`.execute(held)
    const long = [get('transactions?limit=1000', ONE), get('events?limit=1000', ONE)]
    for (let count = 0; count < 3; count += 1) await get('lines?limit=1000', TWO)
    // Only lists need a slot.
    expect((await ask(path, ONE)).statusCode).toBe(200)
    expect(answered).toEqual(Array(3).fill('200 lines?limit=1000'))
    await held.rollback().execute()
    await Promise.all(long)
    expect(answered.slice(3)).toEqual(['200 transactions?limit=1000', '200 events?limit=1000'])
  })

  it('200: delay long trails and statements of the same client, and of no other', async () => {
    const [, merchantId = ''] = /merchants\/(.*)/.exec(path) ?? []
    const id = await customerPayment(payments, merchantId)
    await payments.database.db.updateTable('transactions').set({ trail_length: 31 }).where('id', '=', id).execute()
    const answered: string[] = []
    const urls = [`${path}/lines?limit=1`, `${path}/statement.csv?from=2026-01-01&to=2026-01-01`, `/transactions/${id}`]
    const get = async (url: string, address: string) => {
      const { statusCode } = await ask(url, address)
      answered.push(`${statusCode} ${address} ${url}`)
    }
    const held = await payments.database.db.startTransaction().execute()
    await sql`LOCK TABLE payments.events IN ACCESS EXCLUSIVE MODE`.execute(held)
    // Fifty rows with trails count as about a thousand rows.
    const waiting = [`${path}/events?limit=50`, ...urls].map((url) => get(url, ONE))
    for (const url of [...urls, ...urls]) await get(url, TWO)
    expect(answered).toEqual([...urls, ...urls].map((url) => `200 ${TWO} ${url}`))
    await held.rollback().execute()
    await Promise.all(waiting)
    expect(answered.slice(6).toSorted()).toEqual(
      [`${path}/events?limit=50`, ...urls].map((url) => `200 ${ONE} ${url}`).toSorted(),
    )
  })

  it('200: as CSV are read one after the other for one operator, while no merchant waits', async () => {
    const answered: string[] = []
    const get = async (sent: Promise<{ statusCode: number }>, name: string) =>
      answered.push(`${(await sent).statusCode} ${name}`)
    const held = await payments.database.db.startTransaction().execute()
    await sql`LOCK TABLE payments.disputes IN ACCESS EXCLUSIVE MODE`.execute(held)
    const downloads = Array.from({ length: 5 }, () => get(download('/operator/disputes'), 'download'))
    // The console sends the requests of all operators from one address.
    for (let count = 0; count < 3; count += 1) {
      await get(ask(`${path}/lines?limit=1`, TWO), 'merchant')
      await get(asOperator('/operator/payouts', 'support'), 'another operator')
    }
    expect(answered).toEqual(Array(3).fill(['200 merchant', '200 another operator']).flat())
    await held.rollback().execute()
    await Promise.all(downloads)
    expect(answered.slice(6)).toEqual(Array(5).fill('200 download'))
  })

  it('200: of operators who search keep no merchant waiting', async () => {
    const held = await payments.database.db.startTransaction().execute()
    await sql`LOCK TABLE payments.apps, payments.payouts IN ACCESS EXCLUSIVE MODE`.execute(held)
    const searches = Array.from({ length: 30 }, () => asOperator(`/operator/search?q=${'f'.repeat(24)}`, 'viewer'))
    for (let count = 0; count < 3; count += 1) {
      expect((await ask(`${path}/lines?limit=1`, TWO)).statusCode).toBe(200)
    }
    await held.rollback().execute()
    for (const answer of await Promise.all(searches)) expect(statusAndBody(answer)).toEqual([200, { hits: [] }])
  })

  it.each([
    ['/operator/search?q=none', 3],
    ['/operator/merchants?search=none&limit=1', 1],
    ['/operator/apps?search=none', 1],
    ['/operator/transactions?search=none&limit=1', 1],
    ['/operator/merchants?limit=1', 1],
    ['/operator/transactions?limit=1', 1],
  ])('200: run two at a time for one operator who asks for few rows, as by %s', async (url, statements) => {
    const held = await payments.database.db.startTransaction().execute()
    await sql`LOCK TABLE payments.apps, payments.merchants, payments.transactions IN ACCESS EXCLUSIVE MODE`.execute(
      held,
    )
    const sent = vi.spyOn(payments.operators.pools.read, 'all')
    const searches = Array.from({ length: 6 }, () => asOperator(url, 'viewer'))
    for (let count = 0; count < 3; count += 1) {
      expect((await asOperator('/operator/currencies', 'support')).statusCode).toBe(200)
    }
    expect(sent).toHaveBeenCalledTimes(2 * statements)
    sent.mockRestore()
    await held.rollback().execute()
    for (const answer of await Promise.all(searches)) expect(answer.statusCode).toBe(200)
  })

  it.each(['merchants', 'transactions'])('404: of one of the %s run two at a time for one operator', async (kind) => {
    const held = await payments.database.db.startTransaction().execute()
    await sql`LOCK TABLE payments.merchants, payments.transactions IN ACCESS EXCLUSIVE MODE`.execute(held)
    const sent = vi.spyOn(payments.operators.pools.read, 'first')
    const reads = Array.from({ length: 6 }, () => asOperator(`/operator/${kind}/${'f'.repeat(24)}`, 'viewer'))
    for (let count = 0; count < 3; count += 1) {
      expect((await asOperator('/operator/currencies', 'support')).statusCode).toBe(200)
    }
    const running = sent.mock.calls.length
    sent.mockRestore()
    await held.rollback().execute()
    expect(running).toBe(2)
    for (const answer of await Promise.all(reads)) expect(statusAndBody(answer)).toEqual(refusals.notFound)
  })

  it.each(['tasks', 'deliveries', `deliveries/${randomUUID()}`])(
    '200: of %s keep no change of another operator waiting',
    async (list) => {
      const held = await payments.database.db.startTransaction().execute()
      await sql`LOCK TABLE ${sql.id(payments.deps.names.jobSchema, 'job')} IN ACCESS EXCLUSIVE MODE`.execute(held)
      const reads = Array.from({ length: 12 }, () => asOperator(`/operator/${list}`, 'viewer'))
      const change = await payments.app.inject({
        method: 'PUT',
        url: '/operator/registration',
        headers: { ...operatorHeaders('admin'), 'idempotency-key': randomUUID() },
        payload: { isClosed: false },
      })
      await held.rollback().execute()
      await Promise.all(reads)
      expect(statusAndBody(change)).toEqual([200, { registration: { mode: 'open', isClosed: false } }])
    },
  )

  it('200: of another operator wait for no changes of one, of which two run at a time', async () => {
    const transactionId = await customerPayment(payments, /[^/]+$/.exec(path)?.[0] ?? '')
    const change = (role: 'admin' | 'support', method: 'POST' | 'PUT', url: string, payload: object) =>
      payments.app.inject({
        method,
        url: `/operator/${url}`,
        headers: { ...operatorHeaders(role), 'idempotency-key': randomUUID() },
        payload,
      })
    const held = await payments.database.db.startTransaction().execute()
    await sql`LOCK TABLE payments.transactions IN ACCESS EXCLUSIVE MODE`.execute(held)
    const refunds = Array.from({ length: 12 }, () =>
      change('support', 'POST', `transactions/${transactionId}/refunds`, {
        amount: 1,
        currency: 'EUR',
        descriptor: '',
      }),
    )
    const other = await change('admin', 'PUT', 'registration', { isClosed: false })
    await held.rollback().execute()
    await Promise.all(refunds)
    expect(statusAndBody(other)).toEqual([200, { registration: { mode: 'open', isClosed: false } }])
  })

  it('200: as CSV have each row once, also where they are read in several chunks', async () => {
    const [, merchantId = ''] = /merchants\/(.*)/.exec(path) ?? []
    const id = await customerPayment(payments, merchantId)
    const more = sql`SELECT made.*
      FROM payments.transactions t, generate_series(1, 1200) n,
      jsonb_populate_record(t, jsonb_build_object('id', lpad(to_hex(n), 24, '0'))) made
      WHERE t.id = ${id}`
    await sql`INSERT INTO payments.transactions ${more}`.execute(payments.database.db)
    const all = await sql<{ id: string }>`SELECT id FROM payments.transactions ORDER BY id`.execute(
      payments.database.db,
    )
    const ids = all.rows.map((row) => row.id)
    for (const [order, expected] of [
      ['asc', ids],
      ['desc', ids.toReversed()],
    ] as const) {
      const { body } = await download(`/operator/transactions?order=${order}`)
      const [header = '', ...lines] = body.trim().split('\r\n')
      expect([header.slice(0, 3), lines.map((line) => line.slice(0, 24))]).toEqual(['id,', expected])
    }
  })

  it('200: read after requests that were refused, because a refusal frees its slots', async () => {
    for (let count = 0; count < 3; count += 1) {
      const [unknown, invalid] = await Promise.all([
        ask(`/merchants/${'f'.repeat(24)}/lines?limit=1000`, ONE),
        ask(`${path}/lines?limit=1001`, ONE),
      ])
      expect(statusAndBody(unknown)).toEqual(refusals.notFound)
      expect(statusAndBody(invalid)).toEqual(refusedField('limit', 'must be at most 1000', 'RANGE'))
    }
    expect((await ask(`${path}/lines?limit=1000`, ONE)).statusCode).toBe(200)
  })
})
