import request from '@paylike/request'
import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SOURCES } from '../src/deps.ts'
import { processingError } from '../src/transactions/processing-error.ts'
import { paidOrder, shownTransaction, statusAndBody } from './bodies.ts'
import { refusedCard, refusedOrder, SUPPORTED } from './checkout-refusals.ts'
import { type Answer, type AnswerBody, type Browser, createOrder, type Walk, walk } from './customer.ts'
import { createTestApp, createTestMerchant, startPayments, type TestApp, type TestPayments } from './payments-app.ts'

/** The delay of the slow card. */
const SLOW_MS = 3_000

let payments: TestPayments
let app: TestApp
let merchant: { id: string; key?: unknown }
let browser: Browser
beforeAll(async () => {
  // Tests need not wait for the slow card.
  payments = await startPayments({
    wait: (ms, signal) => SOURCES.wait(ms === SLOW_MS ? 0 : ms, signal),
  })
  app = await createTestApp(payments)
  merchant = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
  browser = overPaylike(await payments.app.listen({ port: 0, host: '127.0.0.1' }))
})
afterAll(() => payments.close())

/** The published client over HTTP, with the service as its hosts. An error that it throws is an answer too. */
function overPaylike(host: string): Browser {
  return {
    send: async (path, data, headers = {}): Promise<Answer> => {
      let [status, received] = [0, new Headers()]
      const observed: typeof fetch = async (url, init) => {
        const response = await fetch(url, {
          ...init,
          headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers },
        })
        status = response.status
        received = response.headers
        return response
      }
      const body = await request(host + path, { version: 1, data, fetch: observed })
        .first<AnswerBody>()
        .catch((error: Error & AnswerBody) => ({ ...error, message: error.message }))
      return { status, headers: Object.fromEntries(received), body }
    },
    submit: async (url, fields) =>
      (
        await fetch(host + new URL(url).pathname, {
          method: 'POST',
          body: new URLSearchParams(fields),
          redirect: 'manual',
        })
      ).text(),
  }
}

const order = (changes: object = {}) => createOrder(browser, { key: merchant.key, ...changes })
const pay = async (changes: object = {}, manner = {}): Promise<Walk> => walk(browser, await order(changes), manner)
const get = async (url: string) => (await payments.app.inject({ method: 'GET', url, headers: app.headers })).json()
const eur = (value: number) => ({ currency: 'EUR', exponent: 2, value })
const newest = async () => (await get(`/merchants/${merchant.id}/transactions?limit=1`))[0]

/** The fields that the published client adds to the body of a refusal. */
const RECEIVED = { name: 'ResponseError', requestId: expect.any(String) }
const SCHEMES: Readonly<Record<string, object>> = {
  PAYMENT_CARD_SCHEME_UNSUPPORTED: { scheme: 'visa', ...SUPPORTED },
  PAYMENT_CARD_SCHEME_UNKNOWN: SUPPORTED,
}
const received = (code: string) => refusedCard(code, { ...RECEIVED, ...SCHEMES[code] })

/** A refusal has a reason, and leaves a transaction with the same reason as a number. */
async function expectRefusal({ status, headers, body }: Walk, statusCode: string, errorCode: number): Promise<void> {
  expect([status, body]).toEqual(received(statusCode))
  expect(headers['x-status-code']).toBe(statusCode)
  const { card, tds, ...refused } = await newest()
  expect({ ...refused, card }).toEqual(
    shownTransaction({
      merchantId: merchant.id,
      amount: 1_000,
      successful: false,
      card,
      error: processingError(errorCode),
    }),
  )
}

describe('the published client', () => {
  it.each([
    ['iframe', {}, ['fetch', 'background-iframe', 'background-iframe', 'iframe']],
    [
      'redirect',
      { returnUrl: 'https://shop.example/' },
      ['fetch', 'background-iframe', 'background-iframe', 'redirect'],
    ],
  ] as const)('201: pays through every challenge by %s', async (way, changes, types) => {
    const paid = await pay(changes, { way })
    expect([paid.status, paid.types]).toEqual([201, types])
    expect(await get(`/transactions/${paid.body.authorizationId}`)).toEqual({
      transaction: shownTransaction({
        merchantId: merchant.id,
        amount: 1_000,
        pendingAmount: 1_000,
        successful: true,
        tds: 'full',
      }),
    })
  })

  it('201: pays with a card whose customer answers in a banking app', async () => {
    const { db } = payments.database
    const wait = () =>
      db
        .updateTable('payment_sessions')
        .set({ challenged: sql`now() - interval '2 seconds'` })
        .where('merchant_id', '=', merchant.id)
        .execute()
    const paid = await pay({ number: '1000000000040000' }, { wait })
    expect([paid.status, paid.types.slice(3)]).toEqual([201, ['poll', 'poll']])
  })
})

describe('the test object', () => {
  it.each<[object, string, number]>([
    [{ card: { scheme: 'unsupported' } }, 'PAYMENT_CARD_SCHEME_UNSUPPORTED', 29],
    [{ card: { scheme: 'unknown' } }, 'PAYMENT_CARD_SCHEME_UNKNOWN', 29],
    [{ card: { code: 'invalid' } }, 'PAYMENT_CARD_SECURITY_CODE_INVALID', 4],
    [{ card: { status: 'invalid' } }, 'PAYMENT_CARD_NUMBER_INVALID', 3],
    [{ card: { status: 'expired' } }, 'PAYMENT_CARD_EXPIRED', 6],
    [{ card: { status: 'disabled' } }, 'PAYMENT_CARD_DISABLED', 9],
    [{ card: { status: 'lost' } }, 'PAYMENT_CARD_LOST', 10],
    [{ card: { limit: eur(999) } }, 'PAYMENT_AMOUNT_LIMIT', 25],
    [{ card: { balance: eur(999) } }, 'PAYMENT_INSUFFICIENT_FUNDS', 7],
    [{ card: { balance: eur(0) } }, 'PAYMENT_INSUFFICIENT_FUNDS', 7],
    [{ card: { balance: { currency: 'DKK', exponent: 2, value: 7_455 } } }, 'PAYMENT_INSUFFICIENT_FUNDS', 7],
    [{ tds: { status: 'rejected' } }, 'TDSECURE_FAILED', 31],
    [{ tds: { status: 'rejected', challenge: false } }, 'TDSECURE_FAILED', 31],
    // Of several reasons the first one counts: scheme, status, code, 3-D Secure, limit, balance.
    [{ card: { scheme: 'unknown', status: 'lost' } }, 'PAYMENT_CARD_SCHEME_UNKNOWN', 29],
    [{ card: { status: 'lost', code: 'invalid' } }, 'PAYMENT_CARD_LOST', 10],
    [{ card: { code: 'invalid' }, tds: { status: 'rejected' } }, 'PAYMENT_CARD_SECURITY_CODE_INVALID', 4],
    [{ card: { limit: eur(1), balance: eur(1) }, tds: { status: 'rejected' } }, 'TDSECURE_FAILED', 31],
    [{ card: { limit: eur(1), balance: eur(1) } }, 'PAYMENT_AMOUNT_LIMIT', 25],
  ])('400: %j is refused with %s', async (test, statusCode, errorCode) => {
    await expectRefusal(await pay({ test }), statusCode, errorCode)
  })

  const ALL = ['fetch', 'background-iframe', 'background-iframe', 'iframe']
  it.each<[object, readonly string[], string | undefined]>([
    [{}, ALL, 'full'],
    [
      { card: { scheme: 'supported', code: 'valid', status: 'valid', limit: 'infinite', balance: 'infinite' } },
      ALL,
      'full',
    ],
    [{ card: { limit: eur(1_000), balance: eur(1_000) } }, ALL, 'full'],
    [{ fingerprint: 'success' }, ALL, 'full'],
    [{ fingerprint: 'timeout' }, ALL, 'full'],
    [{ tds: { fingerprint: 'success' } }, ALL, 'full'],
    [{ tds: { fingerprint: 'timeout' } }, ALL, 'full'],
    [{ tds: { fingerprint: 'unavailable' } }, ['fetch', 'background-iframe', 'iframe'], 'full'],
    [{ tds: { challenge: true } }, ALL, 'full'],
    [{ tds: { challenge: false } }, ALL.slice(0, 3), 'full'],
    [{ tds: { fingerprint: 'unavailable', challenge: false } }, ALL.slice(0, 2), 'full'],
    [{ tds: { status: 'authenticated' } }, ALL, 'full'],
    [{ tds: { status: 'attempted' } }, ALL, 'attempt'],
    [{ tds: { status: 'unavailable' } }, ALL, undefined],
    [{ tds: { status: 'unavailable', challenge: false } }, ALL.slice(0, 3), undefined],
  ])('201: %j is paid through its steps', async (test, types, tds) => {
    const paid = await pay({ test })
    expect([paid.status, paid.types]).toEqual([201, types])
    const { transaction } = await get(`/transactions/${paid.body.authorizationId}`)
    expect([transaction.tds, transaction.successful]).toEqual([tds, true])
  })

  it('400: refuses when the customer declines', async () => {
    await expectRefusal(await pay({}, { decision: 'decline' }), 'TDSECURE_FAILED', 31)
  })

  it('400: refuses unknown fields and values', async () => {
    for (const [test, message] of [
      [{ speed: 1 }, 'test has no field speed'],
      [{ card: { scheme: 'other' } }, 'test.card.scheme is not valid'],
      [{ card: { limit: { currency: 'EUR', exponent: 2 } } }, 'test.card.limit is not valid'],
      [{ tds: { challenge: 'yes' } }, 'test.tds.challenge must be a boolean'],
      ['x', 'test must be an object'],
      [1, 'test must be an object'],
      [[], 'test must be an object'],
    ] as const) {
      const { status, body } = await browser.send('/payments', await order({ test }))
      expect([status, body]).toEqual(refusedOrder('REQUEST_INVALID', message, RECEIVED))
    }
  })
})

describe('a merchant that demands 3-D Secure', () => {
  it.each([
    [201, 'authenticated', paidOrder],
    [400, 'attempted', received('TDSECURE_REQUIRED')],
    [400, 'unavailable', received('TDSECURE_REQUIRED')],
    [400, 'rejected', received('TDSECURE_FAILED')],
  ] as const)('%i: answers a card that is %s', async (_status, tdsStatus, answer) => {
    const full = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
    const { db } = payments.database
    await db.updateTable('merchants').set({ tds_mode: 'full' }).where('id', '=', full.id).execute()
    const paid = await pay({ key: full.key, test: { tds: { status: tdsStatus } } })
    expect([paid.status, paid.body]).toEqual(answer)
  })
})

describe('the numbers of the simulator', () => {
  const number = (digits: string) => `1000000000000000${digits}`.slice(0, 16 - digits.length) + digits
  it.each([
    ['03', 'PAYMENT_CARD_NUMBER_INVALID', 3],
    ['04', 'PAYMENT_CARD_SECURITY_CODE_INVALID', 4],
    ['06', 'PAYMENT_CARD_EXPIRED', 6],
    ['07', 'PAYMENT_INSUFFICIENT_FUNDS', 7],
    ['08', 'PAYMENT_REJECTED_BY_ISSUER', 8],
    ['09', 'PAYMENT_CARD_DISABLED', 9],
    ['10', 'PAYMENT_CARD_LOST', 10],
    ['11', 'PAYMENT_REJECTED', 11],
    ['12', 'PAYMENT_METHOD_ERROR', 12],
    ['25', 'PAYMENT_AMOUNT_LIMIT', 25],
    ['29', 'PAYMENT_CARD_SCHEME_UNSUPPORTED', 29],
    ['30', 'TDSECURE_REQUIRED', 30],
    ['31', 'TDSECURE_FAILED', 31],
  ] as const)('400: a number that ends in %s is refused with %s', async (digits, statusCode, errorCode) => {
    await expectRefusal(await pay({ number: number(digits) }), statusCode, errorCode)
  })

  it.each(['06', '07', '08', '09', '10', '11', '12', '25'])(
    '400: a number that ends in 9 00%s is refused without the customer, after a payment with the customer',
    async (digits) => {
      const paid = await pay({ number: number(`900${digits}`) })
      expect(paid.status).toBe(201)
      const again = await payments.app.inject({
        method: 'POST',
        url: `/merchants/${merchant.id}/transactions`,
        headers: app.headers,
        payload: { transactionId: paid.body.transactionId, currency: 'EUR', amount: 5 },
      })
      expect(statusAndBody(again)).toEqual([400, processingError(Number(digits))])
    },
  )

  it('201: include a Mastercard, a card without a challenge, a slow card and a card that is reported as fraud', async () => {
    const transactions = []
    for (const each of ['2000000000000000', number('10000'), number('50000'), number('30000')]) {
      const { status, types, body } = await pay({ number: each })
      expect(status).toBe(201)
      const { transaction } = await get(`/transactions/${body.transactionId}`)
      transactions.push([transaction.card.scheme, transaction.tds, types.length])
    }
    expect(transactions).toEqual([
      ['mastercard', 'full', 4],
      ['visa', 'full', 3],
      ['visa', 'full', 4],
      ['visa', 'full', 4],
    ])
    const frauds = await get(`/frauds?limit=10&filter[merchantId]=${merchant.id}`)
    expect(frauds).toEqual([
      { transactionId: (await newest()).id, reason: 1, id: anyId, merchantId: merchant.id, created: anyTime },
    ])
  })

  it('201: include a card whose first capture is disputed', async () => {
    const { body } = await pay({ number: number('20000') })
    const capture = {
      method: 'POST',
      url: `/transactions/${body.transactionId}/captures`,
      headers: app.headers,
    } as const
    expect((await payments.app.inject({ ...capture, payload: { amount: 400 } })).statusCode).toBe(201)
    const outbox = await payments.database.db.selectFrom('outbox').select(['id', 'kind']).execute()
    expect(outbox).toEqual([{ id: body.transactionId, kind: 'simulated_dispute' }])
  })

  it('201: are overridden by any field of the test object', async () => {
    const paid = await pay({ number: number('07'), test: { card: { status: 'valid' } } })
    expect([paid.status, paid.body]).toEqual(paidOrder)
  })
})
