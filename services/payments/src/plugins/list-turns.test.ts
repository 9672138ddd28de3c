import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
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
  payments = await startPayments({ lockTimeoutMs: 5_000 })
  app = await createTestApp(payments)
  path = `/merchants/${(await createTestMerchant(payments, app)).id}`
})
afterAll(() => payments.close())

const ask = (url: string, remoteAddress: string) => payments.app.inject({ url, remoteAddress, headers: app.headers })

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
    // Only lists need a turn.
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
    // Fifty rows with trails count for a thousand.
    const waiting = [`${path}/events?limit=50`, ...urls].map((url) => get(url, ONE))
    for (const url of [...urls, ...urls]) await get(url, TWO)
    expect(answered).toEqual([...urls, ...urls].map((url) => `200 ${TWO} ${url}`))
    await held.rollback().execute()
    await Promise.all(waiting)
    expect(answered.slice(6).toSorted()).toEqual(
      [`${path}/events?limit=50`, ...urls].map((url) => `200 ${ONE} ${url}`).toSorted(),
    )
  })

  it('200: read after requests that were refused, because a refusal gives up its turn', async () => {
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
