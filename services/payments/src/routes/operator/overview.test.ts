import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { refusedField, statusAndBody } from '../../../test/bodies.ts'
import { customerPayment } from '../../../test/customer-payment.ts'
import { openWorld, type World } from '../../../test/error-model/world.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import { createTestMerchant } from '../../../test/payments-app.ts'
import { buildApp } from '../../app.ts'
import type { PaymentsDeps } from '../../deps.ts'

let world: World
beforeAll(async () => {
  world = await openWorld({ operators: testOperators })
  const { payments, owner, merchant, ids } = world
  const { db } = payments.database
  const live = await createTestMerchant(payments, owner, { currency: 'EUR' })
  await customerPayment(payments, live.id, { amount: 700 })
  const poor = await customerPayment(payments, merchant.id, { number: '1000000000090007' })
  const url = `/merchants/${merchant.id}/transactions`
  const payload = { transactionId: poor, currency: 'DKK', amount: 5 }
  await payments.app.inject({ method: 'POST', url, headers: owner.headers, payload })
  const job = { merchantId: merchant.id, eventId: ids.transaction, webhookId: ids.webhook }
  await sql`
    INSERT INTO ${sql.id(payments.deps.names.jobSchema, 'job')} (name, state, source_name, source_output, data)
    VALUES ('webhook_delivery_dead', 'created', 'webhook_delivery', '{"message":"away"}', ${JSON.stringify(job)})`.execute(
    db,
  )
  await sql`
    INSERT INTO payments.acquirer_exceptions (merchant_id, id, created, payload, resolved)
    VALUES (${merchant.id}, ${'a'.repeat(24)}, now(), '{}', NULL), (${merchant.id}, ${'b'.repeat(24)}, now(), '{}', now())`.execute(
    db,
  )
  await sql`
    INSERT INTO payments.attempts (merchant_id, id, created, kind, state, request)
    VALUES (${live.id}, ${'c'.repeat(24)}, now(), 'charge', 'unknown', '{}')`.execute(db)
})
afterAll(() => world.payments.close())

const get = (query = '') =>
  world.payments.app.inject({ url: `/operator/overview${query}`, headers: operatorHeaders('viewer') })
const health = { database: 'ok', queue: 'does not work on jobs', mail: 'no mail server is set' }
const today = () => new Date().toISOString().slice(0, 10)

describe('GET /operator/overview', () => {
  it('200: counts what test merchants have, and tells what is not well', async () => {
    const url = `/merchants/${world.merchant.id}`
    const { merchant } = (await world.payments.app.inject({ url, headers: world.owner.headers })).json()
    expect(statusAndBody(await get('?test=true'))).toEqual([
      200,
      {
        days: [
          { date: today(), currency: 'DKK', volume: 0, captures: 0, declines: 1 },
          { date: today(), currency: 'EUR', volume: 10_000, captures: 1, declines: 0 },
        ],
        openDisputes: 1,
        payoutsDue: merchant.balance > 0 ? [{ currency: 'EUR', amount: merchant.balance, merchants: 1 }] : [],
        openExceptions: 1,
        unknownAttempts: 0,
        failedDeliveries: 1,
        deadJobs: [{ task: 'webhook_delivery', count: 1 }],
        health: { ...health, rates: 'none were imported' },
      },
    ])
  })

  it('200: shows the money of live merchants alone unless it is asked for tests', async () => {
    expect(statusAndBody(await get())).toEqual([
      200,
      {
        days: [{ date: today(), currency: 'EUR', volume: 0, captures: 0, declines: 0 }],
        openDisputes: 0,
        payoutsDue: [],
        openExceptions: 0,
        unknownAttempts: 1,
        failedDeliveries: 0,
        deadJobs: [{ task: 'webhook_delivery', count: 1 }],
        health: { ...health, rates: 'none were imported' },
      },
    ])
  })

  it('200: ends a sum of balances at what a bigint holds', async () => {
    const { payments, owner } = world
    const { db } = payments.database
    for (let n = 0; n < 2; n += 1) await createTestMerchant(payments, owner, { currency: 'HUF' })
    const setBalances = (balance: bigint) =>
      sql`UPDATE payments.merchant_balances SET balance = ${balance.toString()} WHERE currency = 'HUF'`.execute(db)
    await setBalances(2n ** 63n - 1n)
    onTestFinished(() => setBalances(0n).then(() => {}))
    // Use a new app, because the first app caches its counts.
    const app = await buildApp({ ...payments.deps })
    const { payoutsDue } = (await app.inject({ url: '/operator/overview', headers: operatorHeaders('viewer') })).json()
    expect(payoutsDue).toEqual([{ currency: 'HUF', amount: 2 ** 63, merchants: 2 }])
    await app.close()
  })

  it('200: tells that the database does not answer, without counts, and counts again as soon as it does', async () => {
    const { deps } = world.payments
    const pool = new pg.Pool({ host: '127.0.0.1', port: 1 })
    const away: PaymentsDeps['operatorDb'] = new Kysely({ dialect: new PostgresDialect({ pool }) })
    const changing = { ...deps, operatorDb: away }
    const app = await buildApp(changing)
    const ask = async () =>
      statusAndBody(await app.inject({ url: '/operator/overview', headers: operatorHeaders('viewer') }))
    expect(await ask()).toEqual([200, { health: { ...health, database: 'does not answer', rates: 'cannot be read' } }])
    changing.operatorDb = deps.operatorDb
    await expect.poll(ask).toEqual(statusAndBody(await get()))
    await app.close()
    await away.destroy()
  })

  it('400: refuses an unknown mode', async () => {
    expect(statusAndBody(await get('?test=maybe'))).toEqual(refusedField('test', 'must be a boolean', 'TYPE'))
  })
})
