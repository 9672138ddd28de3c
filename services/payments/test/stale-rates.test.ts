import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { browse, createOrder, walk } from './customer.ts'
import { customerPayment } from './customer-payment.ts'
import { createTestApp, createTestMerchant, startPayments, type TestApp, type TestPayments } from './payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from './stub-acquirer.ts'

const AMOUNT = { currency: 'USD', exponent: 2, value: 1_000 }
const UNAVAILABLE = { code: 'RATE_UNAVAILABLE', message: 'There is no recent exchange rate' }
let north: StubAcquirer
let payments: TestPayments
let app: TestApp
let merchant: { id: string; key?: unknown }
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  app = await createTestApp(payments)
})
afterAll(() => payments.close())
beforeEach(async () => {
  await forgetRates()
  merchant = await createTestMerchant(payments, app, { currency: 'EUR' })
  await payments.database.db.updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', merchant.id).execute()
  north.received.authorizations.length = 0
})

const newOrder = () =>
  createOrder(browse(payments), { key: merchant.key, number: '4242424242424242', test: undefined, amount: AMOUNT })
const forgetRates = () => sql`DELETE FROM ${sql.table('fx_rates')} WHERE source = 'ecb'`.execute(payments.database.db)
/** Makes the rates recent, as an import of today's rates does. */
const importRate = (daysAgo: number) =>
  sql`INSERT INTO ${sql.table('fx_rates')} (date, currency, source, rate)
    VALUES (current_date - ${daysAgo}::int, 'USD', 'ecb', 1.1)`.execute(payments.database.db)

describe('a live charge in a currency whose rate is too old to capture by', () => {
  it('503: POST /payments reserves nothing, and takes the order once the rate is recent', async () => {
    await importRate(8)
    const order = await newOrder()
    const refused = await browse(payments).send('/payments', order)
    expect([refused.status, refused.body, refused.headers['retry-after']]).toEqual([503, UNAVAILABLE, '60'])
    expect(north.received.authorizations).toEqual([])
    await importRate(7)
    expect((await walk(browse(payments), order)).status).toBe(201)
  })

  it('503: POST /merchants/:merchantId/transactions reserves nothing, and the key is free again', async () => {
    const source = await customerPayment(payments, merchant.id, { number: '4242424242424242' })
    const charge = (currency: string) =>
      payments.app.inject({
        method: 'POST',
        url: `/merchants/${merchant.id}/transactions`,
        headers: { ...app.headers, 'idempotency-key': `key-${currency}` },
        payload: { transactionId: source, currency, amount: 500 },
      })
    await importRate(8)
    const refused = await charge('USD')
    expect([refused.statusCode, refused.json()]).toEqual([503, UNAVAILABLE])
    expect(north.received.authorizations).toEqual([])
    expect((await charge('EUR')).statusCode).toBe(201)
    await importRate(7)
    expect((await charge('USD')).statusCode).toBe(201)
  })

  it('400: the page of a payment link takes no payment', async () => {
    const page = () => payments.app.inject({ url: `/pos?key=${merchant.key}&currency=USD&value=10` })
    await importRate(8)
    const refused = await page()
    expect([refused.statusCode, refused.body]).toEqual([
      400,
      expect.stringContaining('The shop does not take card payments at the moment.'),
    ])
    await importRate(7)
    expect((await page()).statusCode).toBe(200)
  })
})

it('503: a live capture posts nothing until the rate is younger than eight days', async () => {
  await importRate(7)
  const id = await customerPayment(payments, merchant.id, { currency: 'USD', number: '4242424242424242' })
  const capture = () =>
    payments.app.inject({
      method: 'POST',
      url: `/transactions/${id}/captures`,
      headers: app.headers,
      payload: { amount: 100 },
    })
  await forgetRates()
  await importRate(8)
  const refused = await capture()
  expect([refused.statusCode, refused.json()]).toEqual([503, UNAVAILABLE])
  await importRate(7)
  expect((await capture()).statusCode).toBe(201)
})
