import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorBodies, paidOrder, shownCard, shownTransaction } from '../../test/bodies.ts'
import {
  type CheckoutRefusal,
  REFUSED_MERCHANT,
  refusedCard,
  refusedOrder,
  refusedToken,
  SUPPORTED,
} from '../../test/checkout-refusals.ts'
import { type Browser, browse, createOrder, walk } from '../../test/customer.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'

let payments: TestPayments
let browser: Browser
let app: TestApp
let merchant: { id: string; key?: unknown }
/** The hours by which the clock of the service is ahead. */
let hoursAhead = 0
beforeAll(async () => {
  payments = await startPayments({ now: () => new Date(Date.now() + hoursAhead * 3_600_000) })
  browser = browse(payments)
  app = await createTestApp(payments)
  merchant = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
})
beforeEach(() => {
  hoursAhead = 0
})
afterAll(() => payments.close())

const newOrder = (changes: object = {}) => createOrder(browser, { key: merchant.key, ...changes })
const get = async (id: string) =>
  (await payments.app.inject({ method: 'GET', url: `/transactions/${id}`, headers: app.headers })).json().transaction

const EUR_9 = { currency: 'EUR', exponent: 2, value: 900 }
const UNKNOWN_KEY = '00000000-0000-4000-8000-000000000000'
const REQUEST_INVALID = 'REQUEST_INVALID'
const RETURN_URL_INVALID = 'returnUrl must be an http or https URL without credentials'
const otherToken = (path: string) =>
  refusedOrder('TOKEN_TYPE_UNEXPECTED', 'The token stands for another kind of value', { path })
const list = async (): Promise<{ error: { code: number } }[]> => {
  const url = `/merchants/${merchant.id}/transactions?limit=1000`
  return (await payments.app.inject({ method: 'GET', url, headers: app.headers })).json()
}

describe('POST /payments', () => {
  it('201: authorizes the amount after every challenge', async () => {
    const order = await newOrder({
      text: 'Café Ærø & Søn, order 1234567890',
      custom: { cart: [1, 2], reference: 'R-1' },
      unplanned: { merchant: true },
    })
    const { status, headers, body } = await walk(browser, order)
    const { authorizationId: id } = body
    expect([status, body]).toEqual([201, { authorizationId: id, transactionId: id }])
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(await get(id)).toEqual({
      id,
      merchantId: merchant.id,
      test: true,
      created: createdOf(id),
      currency: 'EUR',
      amount: 1_000,
      descriptor: 'Cafe Aero & Son, order',
      reference: 'R-1',
      pendingAmount: 1_000,
      capturedAmount: 0,
      refundedAmount: 0,
      voidedAmount: 0,
      disputedAmount: 0,
      card: {
        bin: '100000',
        last4: '0000',
        expiry: '2066-08-31T23:59:59.999Z',
        scheme: 'visa',
        code: { present: true },
      },
      tds: 'full',
      recurring: false,
      successful: true,
      error: false,
      trail: [],
      custom: { cart: [1, 2], reference: 'R-1' },
      unplanned: { merchant: true },
    })
  })

  it('200: offers the steps one after the other', async () => {
    const { status, body } = await browser.send('/payments', await newOrder())
    const lookup = { name: 'card-lookup', type: 'fetch', path: '/payments/challenges/card-lookup' }
    expect([status, body]).toEqual([200, { challenges: [lookup] }])
    const { types } = await walk(browser, await newOrder())
    expect(types).toEqual(['fetch', 'background-iframe', 'background-iframe', 'iframe'])
  })

  it.each<[object, { currency: string; amount: number }]>([
    [
      { currency: 'EUR', exponent: 2, value: 1 },
      { currency: 'EUR', amount: 1 },
    ],
    [
      { currency: 'EUR', exponent: 0, value: 10 },
      { currency: 'EUR', amount: 1_000 },
    ],
    [
      { currency: 'EUR', exponent: 3, value: 1_855 },
      { currency: 'EUR', amount: 186 },
    ],
    [
      { currency: 'EUR', exponent: 10, value: 1 },
      { currency: 'EUR', amount: 1 },
    ],
    [
      { currency: 'JPY', exponent: 2, value: 10_001 },
      { currency: 'JPY', amount: 101 },
    ],
    [
      { currency: 'KWD', exponent: 3, value: 1_234 },
      { currency: 'KWD', amount: 1_234 },
    ],
    [
      { currency: 'DKK', exponent: 2, value: 999_999_999_999 },
      { currency: 'DKK', amount: 999_999_999_999 },
    ],
  ])('201: stores the amount %j as %j', async (amount, money) => {
    const { status, body } = await walk(browser, await newOrder({ amount }))
    expect([status, body]).toEqual(paidOrder)
    expect(await get(body.transactionId)).toEqual(
      shownTransaction({ ...money, pendingAmount: money.amount, merchantId: merchant.id, tds: 'full' }),
    )
  })

  it('201: verifies a card without an amount, so that the server may charge it as planned', async () => {
    const plan = [
      { amount: EUR_9, scheduled: '2065-01-01T00:00:00Z' },
      { amount: EUR_9, repeat: { first: '2066-01-01T00:00:00+01:00', interval: { unit: 'month', value: 2 } } },
    ]
    const { body } = await walk(browser, await newOrder({ amount: undefined, plan, number: '1000000000010000' }))
    expect(await get(body.transactionId)).toEqual(
      shownTransaction({ merchantId: merchant.id, currency: 'EUR', amount: 0, pendingAmount: 0, tds: 'full', plan }),
    )
    const charge = await payments.app.inject({
      method: 'POST',
      url: `/merchants/${merchant.id}/transactions`,
      headers: app.headers,
      payload: { transactionId: body.transactionId, currency: 'EUR', amount: 900 },
    })
    expect(charge.statusCode).toBe(201)
    expect(await get(charge.json().transaction.id)).toEqual(
      shownTransaction({
        merchantId: merchant.id,
        amount: 900,
        pendingAmount: 900,
        card: shownCard({ code: { present: false } }),
        recurring: true,
        sourceTransactionId: body.transactionId,
      }),
    )
    const instruments = await payments.database.db
      .selectFrom('instruments')
      .select(['planned', 'network_ref'])
      .innerJoin('transactions', (join) =>
        join
          .onRef('transactions.merchant_id', '=', 'instruments.merchant_id')
          .onRef('transactions.instrument_id', '=', 'instruments.id'),
      )
      .where('transactions.id', '=', body.transactionId)
      .execute()
    expect(instruments).toEqual([{ planned: true, network_ref: null }])
  })

  it('201: adds an event of the merchant', async () => {
    const { status, body } = await walk(browser, await newOrder())
    expect([status, body]).toEqual(paidOrder)
    const url = `/merchants/${merchant.id}/events?limit=1`
    const [event] = (await payments.app.inject({ method: 'GET', url, headers: app.headers })).json()
    expect(event).toEqual({
      type: 'transaction.created',
      data: {
        transaction: shownTransaction({
          id: body.transactionId,
          merchantId: merchant.id,
          created: createdOf(body.transactionId),
          amount: 1_000,
          pendingAmount: 1_000,
          tds: 'full',
        }),
      },
      id: anyId,
      version: 1,
      created: anyTime,
      merchantId: merchant.id,
    })
  })

  const monthly = { interval: { unit: 'month' } }
  it.each<[object, string, string]>([
    [{ integration: {} }, REQUEST_INVALID, 'integration.key is required'],
    [
      { card: { number: 'x' } },
      REQUEST_INVALID,
      'card.expiry.month is required; card.expiry.year is required; card.code is required',
    ],
    [{ amount: { currency: 'EUR', exponent: 11, value: 1 } }, REQUEST_INVALID, 'amount.exponent must be at most 10'],
    [{ amount: { currency: 'EUR', exponent: 2, value: 0 } }, REQUEST_INVALID, 'amount.value must be at least 1'],
    [{ amount: { currency: 'EUR', exponent: 2, value: 9.5 } }, REQUEST_INVALID, 'amount.value must be an integer'],
    [{ amount: { currency: 'EUR', exponent: 2, value: '1' } }, REQUEST_INVALID, 'amount.value must be an integer'],
    [{ amount: { currency: 'eur', exponent: 2, value: 1 } }, REQUEST_INVALID, 'amount.currency is not valid'],
    [
      { amount: { currency: 'XXX', exponent: 2, value: 1 } },
      REQUEST_INVALID,
      'amount.currency must be a currency that can be charged',
    ],
    [
      { amount: { currency: 'EUR', exponent: 2, value: 1e12 } },
      REQUEST_INVALID,
      'amount.value must be at most 999999999999 minor units',
    ],
    [{ amount: undefined }, REQUEST_INVALID, 'amount is required without plan and unplanned'],
    [{ text: 'x' }, REQUEST_INVALID, 'text must be at least 2 characters'],
    [{ text: 'x'.repeat(1_025) }, REQUEST_INVALID, 'text must be at most 1024 characters'],
    [{ custom: 'x'.repeat(50_000) }, REQUEST_INVALID, 'custom must be at most 50000 bytes'],
    [{ custom: Array(200).fill(1e308) }, REQUEST_INVALID, 'custom must be at most 50000 bytes'],
    [{ custom: '4111 1111 1111 1111 '.repeat(3_000) }, REQUEST_INVALID, 'custom must be at most 50000 bytes'],
    [{ custom: { a: '\u0000' } }, REQUEST_INVALID, 'custom must not contain U+0000 or lone surrogates'],
    [{ reference: 'x'.repeat(256) }, REQUEST_INVALID, 'reference must be at most 255 characters'],
    [{ hints: ['x'.repeat(4_097)] }, REQUEST_INVALID, 'hints.0 must be at most 4096 characters'],
    [{ hints: Array.from({ length: 51 }, () => 'x') }, REQUEST_INVALID, 'hints must be at most 50'],
    [{ hints: [1] }, REQUEST_INVALID, 'hints.0 must be a string'],
    [{ returnUrl: 'javascript:alert(1)' }, REQUEST_INVALID, RETURN_URL_INVALID],
    [{ returnUrl: 'https://a:b@shop.example/' }, REQUEST_INVALID, RETURN_URL_INVALID],
    [{ returnUrl: 'https://:b@shop.example/' }, REQUEST_INVALID, RETURN_URL_INVALID],
    [{ unplanned: {} }, REQUEST_INVALID, 'unplanned must be true for merchant or customer'],
    [{ plan: [{ amount: EUR_9 }] }, REQUEST_INVALID, 'plan.0 must have one of scheduled and repeat'],
    [
      { plan: [{ amount: EUR_9, scheduled: '2020-01-01T00:00:00Z' }] },
      REQUEST_INVALID,
      'plan.0.scheduled must be in the future',
    ],
    [
      {
        plan: [
          { amount: EUR_9, repeat: monthly },
          { amount: EUR_9, repeat: monthly },
        ],
      },
      REQUEST_INVALID,
      'plan.0.repeat.count is required before another entry',
    ],
    [{ applepay: 'x' }, REQUEST_INVALID, 'applepay is not offered'],
    [{ mobilepay: {} }, REQUEST_INVALID, 'mobilepay is not offered'],
    [{ integration: { key: 'x' } }, 'PAYMENT_INTEGRATION_KEY_UNKNOWN', 'No merchant has this key'],
    [{ integration: { key: UNKNOWN_KEY } }, 'PAYMENT_INTEGRATION_KEY_UNKNOWN', 'No merchant has this key'],
    [{ test: false }, 'TEST_MODE_MIXED', 'test is required for a test merchant'],
  ])('400: refuses %j with %s', async (changes, code, message) => {
    const answer = await browser.send('/payments', { ...(await newOrder()), ...changes })
    expect([answer.status, answer.body, answer.headers['x-status-code']]).toEqual([400, { code, message }, code])
  })

  it('400: refuses an unknown token, one of the other kind, an old one, and one in another form', async () => {
    const order = await newOrder()
    const { number, code } = order.card
    const cards: readonly [object, CheckoutRefusal][] = [
      [{ number: { token: 'x' } }, refusedToken('card.number')],
      [{ number: { token: number.token.slice(4) } }, refusedToken('card.number')],
      [{ code: { token: '' } }, refusedOrder(REQUEST_INVALID, 'card.code is not valid')],
      [{ number: code }, otherToken('card.number')],
      [{ code: number }, otherToken('card.code')],
    ]
    for (const [changes, refusal] of cards) {
      const { status, body } = await browser.send('/payments', { ...order, card: { ...order.card, ...changes } })
      expect([status, body]).toEqual(refusal)
    }
    const bare = { ...order, card: { ...order.card, number: number.token, code: code.token } }
    expect((await browser.send('/payments', bare)).status).toBe(200)
    for (const [hours, path] of [
      [1, 'card.code'],
      [24, 'card.number'],
    ] as const) {
      hoursAhead = hours
      const { status, body } = await browser.send('/payments', order)
      expect([status, body]).toEqual(refusedToken(path))
    }
  })

  /** Orders with faults. Each order lacks the first fault of the previous order, in the order of the checks. */
  async function faultyOrders() {
    const bad = {
      integration: { key: UNKNOWN_KEY },
      test: undefined,
      amount: undefined,
      card: { number: { token: 'x' }, code: { token: 'x' }, expiry: { month: 1, year: 2020 } },
    }
    const token = async (number: string) => (await createOrder(browser, { key: merchant.key, number })).card
    const [unknown, good] = [await token('9000000000000000'), await token('1000000000000000')]
    return [
      bad,
      { ...bad, integration: { key: merchant.key } },
      { ...bad, integration: { key: merchant.key }, test: {} },
      { ...(await newOrder()), card: bad.card },
      { ...(await newOrder()), card: { ...unknown, expiry: bad.card.expiry } },
      { ...(await newOrder()), card: { ...good, expiry: bad.card.expiry } },
    ]
  }

  it('400: judges merchant, mode, amount, tokens, scheme, month, in this order', async () => {
    const refused = []
    for (const each of await faultyOrders()) {
      const { status, body } = await browser.send('/payments', each)
      refused.push([status, body])
    }
    expect(refused).toEqual([
      refusedOrder('PAYMENT_INTEGRATION_KEY_UNKNOWN', 'No merchant has this key'),
      refusedOrder('TEST_MODE_MIXED', 'test is required for a test merchant'),
      refusedOrder(REQUEST_INVALID, 'amount is required without plan and unplanned'),
      refusedToken('card.number'),
      refusedCard('PAYMENT_CARD_SCHEME_UNKNOWN', SUPPORTED),
      refusedCard('PAYMENT_CARD_EXPIRED'),
    ])
  })

  it('400: stores a refusal from the scheme on', async () => {
    const orders = await faultyOrders()
    const before = await list()
    const answers: [status: number, code: string][] = []
    for (const each of orders) {
      const { status, body } = await browser.send('/payments', each)
      answers.push([status, body.code])
    }
    expect(answers.slice(-2)).toEqual([
      [400, 'PAYMENT_CARD_SCHEME_UNKNOWN'],
      [400, 'PAYMENT_CARD_EXPIRED'],
    ])
    const refused = (await list()).slice(0, -before.length || undefined)
    expect(refused.map(({ error }) => error.code)).toEqual([6, 29])
  })

  it('400: refuses an expired card by the clock of its merchant', async () => {
    const other = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
    const order = await createOrder(browser, { key: other.key })
    expect((await browser.send('/payments', order)).status).toBe(200)
    const advance = 45 * 365 * 86_400
    const url = `/test/merchants/${other.id}/clock`
    await payments.app.inject({ method: 'POST', url, headers: app.headers, payload: { advance } })
    const { status, body } = await browser.send('/payments', order)
    expect([status, body]).toEqual(refusedCard('PAYMENT_CARD_EXPIRED'))
  })

  it('400: refuses a currency without a rate', async () => {
    await payments.database.db.deleteFrom('fx_rates').where('currency', '=', 'AFN').execute()
    const order = await newOrder({ amount: { currency: 'AFN', exponent: 2, value: 100 } })
    const { status, body } = await browser.send('/payments', order)
    expect([status, body]).toEqual(refusedOrder(REQUEST_INVALID, 'amount.currency has no exchange rate'))
  })

  it('400: refuses for a merchant without the permission', async () => {
    const other = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
    const order = await createOrder(browser, { key: other.key })
    await payments.database.db
      .updateTable('merchants')
      .set({ claim: sql`claim || '{"canChargeCard":false}'` })
      .where('id', '=', other.id)
      .execute()
    const { status, body } = await browser.send('/payments', order)
    expect([status, body]).toEqual(REFUSED_MERCHANT)
  })

  it('404: refuses unknown paths below it, as JSON', async () => {
    const { status, body } = await browser.send('/payments/other', {})
    expect([status, body]).toEqual([404, errorBodies.endpointNotFound])
  })

  it('413: refuses a body above 128 KiB', async () => {
    const { status, body } = await browser.send('/payments', { ...(await newOrder()), custom: 'x'.repeat(131_072) })
    expect([status, body]).toEqual([413, { code: 'PAYLOAD_TOO_LARGE', message: 'The body is too large' }])
  })
})

describe('POST /payments with an Idempotency-Key', () => {
  const repeat = (key: string) => ({ 'idempotency-key': key })

  it('201: answers a repeat with the same bytes, also a day after its session', async () => {
    const order = await newOrder()
    const { hints } = await walk(browser, order, { until: 'tds-challenge' })
    const pay = () => browser.send('/payments', { ...order, hints }, repeat('k-1'))
    const first = await pay()
    await payments.database.db.deleteFrom('payment_sessions').execute()
    const again = await pay()
    expect([again.status, again.body]).toEqual([201, first.body])
    expect([first.headers['idempotent-replayed'], again.headers['idempotent-replayed']]).toEqual([undefined, 'true'])
  })

  it('400: repeats a refusal, and leaves one transaction', async () => {
    const order = await newOrder({ test: { card: { scheme: 'unsupported' } } })
    const before = (await list()).length
    const pay = () => browser.send('/payments', order, repeat('k-2'))
    const [first, again] = [await pay(), await pay()]
    const body = {
      code: 'PAYMENT_CARD_SCHEME_UNSUPPORTED',
      message: 'Invalid card number or card not supported',
      scheme: 'visa',
      supported: ['visa', 'mastercard'],
    }
    expect([first.status, first.body]).toEqual([400, body])
    expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([400, body, 'true'])
    expect((await list()).length).toBe(before + 1)
  })

  const KEY_USED = refusedOrder(REQUEST_INVALID, 'Idempotency-Key was used with another body')
  const refusedAs = (scheme: string) => newOrder({ test: { card: { scheme } } })
  /** Completes all steps of an order except its authorization. */
  const readyOrder = async (changes: object = {}) => {
    const order = await newOrder(changes)
    return { ...order, hints: (await walk(browser, order, { until: 'tds-challenge' })).hints }
  }

  it('201: pays under a key whose order was refused to a stranger, and holds it against both from then on', async () => {
    const strangers = await refusedAs('unknown')
    const declined = await browser.send('/payments', strangers, repeat('order-77'))
    expect([declined.status, declined.body]).toEqual(refusedCard('PAYMENT_CARD_SCHEME_UNKNOWN', SUPPORTED))
    const order = await readyOrder()
    const paid = await browser.send('/payments', order, repeat('order-77'))
    expect([paid.status, paid.body]).toEqual(paidOrder)
    const again = await browser.send('/payments', order, repeat('order-77'))
    expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([201, paid.body, 'true'])
    for (const other of [strangers, await refusedAs('unsupported'), await readyOrder()]) {
      const { status, body } = await browser.send('/payments', other, repeat('order-77'))
      expect([status, body]).toEqual(KEY_USED)
    }
  })

  it('400: repeats the refusal of the last order under a key', async () => {
    const orders = [await refusedAs('unknown'), await refusedAs('unsupported')]
    const before = (await list()).length
    const answers: unknown[] = []
    for (const order of [...orders, orders[1]]) {
      const { status, body, headers } = await browser.send('/payments', order ?? {}, repeat('k-3'))
      answers.push([status, body.code, headers['idempotent-replayed']])
    }
    expect(answers).toEqual([
      [400, 'PAYMENT_CARD_SCHEME_UNKNOWN', undefined],
      [400, 'PAYMENT_CARD_SCHEME_UNSUPPORTED', undefined],
      [400, 'PAYMENT_CARD_SCHEME_UNSUPPORTED', 'true'],
    ])
    expect((await list()).length).toBe(before + 2)
  })

  it('200: asks for the challenges of an order under a key whose order was refused', async () => {
    await browser.send('/payments', await refusedAs('unknown'), repeat('k-4'))
    const { status, body } = await browser.send('/payments', await newOrder(), repeat('k-4'))
    expect([status, Object.keys(body)]).toEqual([200, ['challenges']])
  })

  it('201 and 400: gives the key of a refused order to one of many parallel orders', async () => {
    await browser.send('/payments', await refusedAs('unknown'), repeat('k-5'))
    const orders = await Promise.all(Array.from({ length: 6 }, () => readyOrder()))
    const answers = await Promise.all(orders.map((order) => browser.send('/payments', order, repeat('k-5'))))
    const won = answers.filter(({ status }) => status === 201)
    const others = answers.filter(({ status }) => status !== 201).map(({ status, body }) => [status, body])
    expect(won.map(({ status, body }) => [status, body])).toEqual([paidOrder])
    expect(others).toEqual(Array.from({ length: 5 }, () => KEY_USED))
  })

  it('201: answers alike the same order at once under the key of a refused order', async () => {
    await browser.send('/payments', await refusedAs('unknown'), repeat('k-6'))
    const order = await readyOrder()
    const answers = await Promise.all(Array.from({ length: 6 }, () => browser.send('/payments', order, repeat('k-6'))))
    const ids = new Set(answers.map(({ body }) => body.transactionId))
    expect([answers.map(({ status }) => status), ids.size]).toEqual([Array.from({ length: 6 }, () => 201), 1])
  })

  it('201: stores a digest in place of the key, also of a key that is a card number', async () => {
    const number = '4111111111111111'
    const order = await readyOrder()
    const paid = await browser.send('/payments', order, repeat(number))
    expect([paid.status, paid.body]).toEqual(paidOrder)
    const again = await browser.send('/payments', order, repeat(number))
    expect(again.body).toEqual(paid.body)
    const rows = await payments.database.db.selectFrom('idempotency').select('key').execute()
    expect(rows.filter(({ key }) => !/^[\w-]{43}$/.test(key))).toEqual([])
  })

  it('400: refuses a malformed key', async () => {
    const { status, body } = await browser.send('/payments', await newOrder(), repeat('a b'))
    expect([status, body]).toEqual(refusedOrder(REQUEST_INVALID, 'Idempotency-Key is not valid'))
  })
})
