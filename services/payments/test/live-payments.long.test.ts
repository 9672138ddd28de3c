import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { processingError } from '../src/transactions/processing-error.ts'
import { askedAuthorization, refusals, shownCard, shownTransaction } from './bodies.ts'
import { REFUSED_MERCHANT, refusedCard, refusedOrder, SUPPORTED } from './checkout-refusals.ts'
import { type Browser, browse, createOrder, walk } from './customer.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from './payments-app.ts'
import { createStubAcquirer, type StubAcquirer } from './stub-acquirer.ts'

const NUMBER = '4242424242424242'
let north: StubAcquirer
let payments: TestPayments
let browser: Browser
let app: TestApp
let merchant: { id: string; key?: unknown }
beforeAll(async () => {
  north = createStubAcquirer()
  payments = await startPayments({
    acquirers: new Map([['north', north]]),
    requireTls: true,
    trustedProxies: 1,
    rateLimits: { refusalsPerTenMinutes: 3 },
  })
  browser = secure()
  app = await createTestApp(payments)
})
beforeEach(async () => {
  Object.assign(north.answers, createStubAcquirer().answers)
  for (const list of Object.values(north.received)) list.length = 0
  merchant = await createTestMerchant(payments, app, { currency: 'EUR' })
  await change({ acquirer: 'north' })
})
afterAll(() => payments.close())

const change = (values: object) =>
  payments.database.db.updateTable('merchants').set(values).where('id', '=', merchant.id).execute()
/** Returns a browser behind a TLS proxy. */
function secure(address = '192.0.2.1'): Browser {
  const { send, submit } = browse(payments)
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-for': address }
  return { submit, send: (path, payload, headers) => send(path, payload, { ...forwarded, ...headers }) }
}
const newOrder = (changes: object = {}) =>
  createOrder(browser, { key: merchant.key, number: NUMBER, test: undefined, ...changes })
const get = async (id: string) =>
  (await payments.app.inject({ method: 'GET', url: `/transactions/${id}`, headers: app.headers })).json().transaction

it('201: asks the acquirer once, with the security code, and charges later with the reference of the scheme', async () => {
  north.answers.authorize = async () => ({ verdict: 'approved', ref: 'n-1', networkRef: 'network-1' })
  const paid = await walk(browser, await newOrder({ plan: [PLAN], text: 'Order 7' }))
  expect([paid.status, paid.types]).toEqual([201, ['fetch']])
  const [authorization] = north.received.authorizations
  expect([north.received.authorizations.length, authorization?.card.number(), authorization?.card.code?.()]).toEqual([
    1,
    NUMBER,
    '111',
  ])
  expect(authorization).toEqual(
    askedAuthorization({
      merchantId: merchant.id,
      money: { currency: 'EUR', amount: 1_000 },
      descriptor: 'Order 7',
      card: { expiry: '2066-08-31', scheme: 'visa', number: expect.any(Function), code: expect.any(Function) },
      initiator: 'customer',
      planned: true,
      networkRef: null,
    }),
  )
  const transaction = await get(paid.body.transactionId)
  expect(transaction).toEqual(
    shownTransaction({
      id: paid.body.transactionId,
      merchantId: merchant.id,
      test: false,
      created: createdOf(paid.body.transactionId),
      amount: 1_000,
      descriptor: 'Order 7',
      pendingAmount: 1_000,
      card: shownCard({ bin: '424242', last4: '4242' }),
      recurring: false,
      successful: true,
      plan: [{ amount: { value: 900, currency: 'EUR', exponent: 2 }, repeat: { interval: { unit: 'month' } } }],
    }),
  )
  expect(transaction).not.toHaveProperty('tds')
  await payments.app.inject({
    method: 'POST',
    url: `/merchants/${merchant.id}/transactions`,
    headers: app.headers,
    payload: { transactionId: transaction.id, currency: 'EUR', amount: 5 },
  })
  expect(north.received.authorizations[1]).toEqual(
    askedAuthorization({
      merchantId: merchant.id,
      money: { currency: 'EUR', amount: 5 },
      card: { code: null, number: expect.any(Function), expiry: '2066-08-31', scheme: 'visa' },
      initiator: 'merchant',
      planned: true,
      networkRef: 'network-1',
    }),
  )
})

const PLAN = { amount: { currency: 'EUR', exponent: 2, value: 900 }, repeat: { interval: { unit: 'month' } } }

it.each([
  ['4242424242424241', 'PAYMENT_CARD_NUMBER_INVALID', {}],
  ['1000000000000000', 'PAYMENT_CARD_SCHEME_UNKNOWN', SUPPORTED],
  ['378282246310005', 'PAYMENT_CARD_SCHEME_UNSUPPORTED', { scheme: 'amex', ...SUPPORTED }],
])('400: refuses %s with %s before the acquirer is asked', async (number, code, details) => {
  const { status, body } = await walk(secure('192.0.2.4'), await newOrder({ number }))
  expect([status, body]).toEqual(refusedCard(code, details))
  expect(north.received.authorizations).toHaveLength(0)
})

// ASVS 16.5.3
it('400: answers a decline with the status code of the acquirer, and leaves an unanswered payment to a job', async () => {
  north.answers.authorize = async () => ({ verdict: 'declined', statusCode: 'PAYMENT_RECEIVER_BLOCKED' })
  const declined = await newOrder()
  const first = await walk(secure('192.0.2.2'), declined)
  expect([first.status, first.body]).toEqual(refusedOrder('PAYMENT_RECEIVER_BLOCKED', 'Declined by cardholder bank'))
  const again = await browser.send('/payments', { ...declined, hints: first.hints })
  expect(again.body).toEqual(first.body)
  north.answers.authorize = () => Promise.reject(new Error('reset'))
  const { status, body } = await walk(secure('192.0.2.2'), await newOrder())
  expect([status, body]).toEqual(refusedCard('PAYMENT_METHOD_ERROR'))
  const { db } = payments.database
  const outbox = await db.selectFrom('outbox').select('kind').where('merchant_id', '=', merchant.id).execute()
  expect(outbox).toEqual([{ kind: 'inquiry' }])
})

it('400: refuses for a merchant that demands 3-D Secure, which live cards cannot have', async () => {
  await change({ tds_mode: 'full' })
  const { status, body } = await walk(secure('192.0.2.3'), await newOrder())
  expect([status, body]).toEqual(refusedCard('TDSECURE_REQUIRED'))
  expect(north.received.authorizations).toHaveLength(0)
})

it('400: refuses test mode', async () => {
  const { status, body } = await browser.send('/payments', await newOrder({ test: {} }))
  expect([status, body]).toEqual(refusedOrder('TEST_MODE_MIXED', 'test is not for a live merchant'))
})

it('400: refuses without a configured acquirer', async () => {
  for (const acquirer of [null, 'south']) {
    await change({ acquirer })
    const { status, body } = await browser.send('/payments', await newOrder())
    expect([status, body]).toEqual(REFUSED_MERCHANT)
  }
})

const WITHOUT_TLS = refusedOrder('REQUEST_INVALID', 'Missing secure connection (https)', { error: processingError(21) })

it('400: refuses card data that came without TLS, where TLS is required', async () => {
  const { status, body } = await browse(payments).send('/payments', await newOrder())
  expect([status, body]).toEqual(WITHOUT_TLS)
  const tester = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
  const order = await createOrder(browser, { key: tester.key })
  expect((await browse(payments).send('/payments', order)).status).toBe(200)
})

it.each([
  ['/vault', { type: 'pcn', value: NUMBER }],
  ['/vault', { type: 'pcsc', value: '111' }],
])('400: %s accepts nothing that came without TLS, where TLS is required', async (path, payload) => {
  const { status, body } = await browse(payments).send(path, payload)
  expect([status, body]).toEqual(WITHOUT_TLS)
  expect((await browser.send(path, payload)).status).toBe(201)
})

it('400: shows no payment page and accepts no form without TLS', async () => {
  const link = new URLSearchParams({ key: String(merchant.key), value: '10', locale: 'en' }).toString()
  const form = { link, page: 'A'.repeat(22), number: NUMBER, expiry: '08/66', code: '111' }
  const inject = (method: 'GET' | 'POST', url: string, headers = {}) =>
    payments.app.inject({
      method,
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: method === 'GET' ? '' : new URLSearchParams(form).toString(),
    })
  const tried = [
    await inject('GET', `/pos?${link}`),
    await inject('POST', '/pos'),
    await inject('POST', '/pos/pay'),
    await inject('GET', `/pos/pay?${link}`),
    await inject('GET', `/pos/pay/${form.page}?${link}`),
  ]
  for (const { statusCode, body } of tried) {
    expect([statusCode, body.includes('without a secure connection'), body.includes('<form')]).toEqual([
      400,
      true,
      false,
    ])
  }
  expect(north.received.authorizations).toHaveLength(0)
  const secured = await inject('GET', `/pos?${link}`, { 'x-forwarded-proto': 'https' })
  expect([secured.statusCode, secured.body.includes('cc-number')]).toEqual([200, true])
})

it('400: refuses a live order whose returnUrl leaves the site of the merchant', async () => {
  const returnTo = async (returnUrl: string) => {
    const { status, body } = await browser.send('/payments', await newOrder({ returnUrl }))
    return [status, body]
  }
  const message = "returnUrl must be on the site of the merchant's website"
  expect(await returnTo('https://evil.example/phish')).toEqual([400, { code: 'REQUEST_INVALID', message }])
  const lookup = { name: 'card-lookup', type: 'fetch', path: '/payments/challenges/card-lookup' }
  const offered = [200, { challenges: [lookup] }]
  expect(await returnTo('https://shop.example.com/back')).toEqual(offered)
  expect(await returnTo('https://payments.example/pos/pay/x')).toEqual(offered)
})

// ASVS 2.4.1
it('429: refuses an address whose cards were refused too often, and counts no test merchants', async () => {
  const bad = () => newOrder({ number: '4242424242424241' })
  const tester = secure('198.51.100.7')
  /** Returns 201, or the status and body of the refusal. */
  const pay = async (order: object) => {
    const { status, body } = await walk(tester, order)
    return status === 201 ? 201 : [status, body]
  }
  const unknown = refusedCard('PAYMENT_CARD_SCHEME_UNKNOWN', SUPPORTED)
  const invalid = refusedCard('PAYMENT_CARD_NUMBER_INVALID')
  const test = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
  const refusedTest = () => createOrder(browser, { key: test.key, test: { card: { scheme: 'unknown' } } })
  for (let i = 0; i < 5; i++) expect(await pay(await refusedTest())).toEqual(unknown)
  expect(await pay(await newOrder())).toBe(201)
  expect([await pay(await bad()), await pay(await bad()), await pay(await bad())]).toEqual([invalid, invalid, invalid])
  const limited = await walk(tester, await bad())
  expect([limited.status, limited.body]).toEqual(refusals.rateLimited)
  expect(limited.headers['retry-after']).toBe('600')
  expect(await pay(await newOrder())).toEqual(refusals.rateLimited)
  expect(await pay(await refusedTest())).toEqual(unknown)
  expect((await walk(secure('198.51.100.8'), await newOrder())).status).toBe(201)
})

it('429: refuses cards that are tried all at once', async () => {
  north.answers.authorize = async () => ({ verdict: 'declined', statusCode: 'PAYMENT_CARD_DISABLED' })
  const tester = secure('198.51.100.9')
  const orders = await Promise.all(Array.from({ length: 30 }, () => newOrder()))
  const answers = await Promise.all(orders.map((each) => walk(tester, each)))
  const refused = answers.map(({ status, body }) => [status, body]).toSorted(([a], [b]) => Number(a) - Number(b))
  // The limit is three, and two more payments may have been running at the third refusal.
  const { length: count } = north.received.authorizations
  expect(count).toBeGreaterThanOrEqual(3)
  expect(count).toBeLessThanOrEqual(5)
  expect(refused).toEqual([
    ...Array(count).fill(refusedCard('PAYMENT_CARD_DISABLED')),
    ...Array(30 - count).fill(refusals.rateLimited),
  ])
})

it('201: answers one order alike however often it is sent', async () => {
  const [honest, paid] = [secure('198.51.100.10'), await newOrder()]
  const { hints } = await walk(honest, paid, { until: 'card-lookup' })
  const answers = await Promise.all(Array.from({ length: 30 }, () => honest.send('/payments', { ...paid, hints })))
  expect(new Set(answers.map(({ status, body }) => `${status} ${body.transactionId}`)).size).toBe(1)
  expect(answers[0]?.status).toBe(201)
})
