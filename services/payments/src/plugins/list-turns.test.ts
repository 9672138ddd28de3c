import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
  it('of one client follow each other, and no other client waits for them', async () => {
    const answered: string[] = []
    const get = async (list: string, address: string) => {
      const { statusCode } = await ask(`${path}/${list}`, address)
      answered.push(`${statusCode} ${list}`)
    }
    const held = await payments.database.db.startTransaction().execute()
    await sql`LOCK TABLE payments.transactions IN ACCESS EXCLUSIVE MODE`.execute(held)
    const long = [get('transactions?limit=1000', ONE), get('events?limit=1000', ONE)]
    for (let count = 0; count < 3; count += 1) await get('lines?limit=1000', TWO)
    // What is no list needs no turn.
    expect((await ask(path, ONE)).statusCode).toBe(200)
    expect(answered).toEqual(Array(3).fill('200 lines?limit=1000'))
    await held.rollback().execute()
    await Promise.all(long)
    expect(answered.slice(3)).toEqual(['200 transactions?limit=1000', '200 events?limit=1000'])
  })

  it('leave their turn when they are refused', async () => {
    for (let count = 0; count < 3; count += 1) {
      const [unknown, invalid] = await Promise.all([
        ask(`/merchants/${'f'.repeat(24)}/lines?limit=1000`, ONE),
        ask(`${path}/lines?limit=1001`, ONE),
      ])
      expect([unknown.statusCode, invalid.statusCode]).toEqual([404, 400])
    }
    expect((await ask(`${path}/lines?limit=1000`, ONE)).statusCode).toBe(200)
  })
})
