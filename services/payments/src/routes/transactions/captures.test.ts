import { anyId } from '@trestle/testing/any-text.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, refusedField, shownCard, shownTransaction, statusAndBody, trailEntry } from '../../../test/bodies.ts'
import { customerPayment } from '../../../test/customer-payment.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
/** A merchant with a balance in DKK. */
let merchantId: string
/** A connection as the owner of the schema. */
let owner: pg.Client
/** The date of the exchange rate. */
let today: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
  owner = new pg.Client({ connectionString: payments.url })
  await owner.connect()
  const { rows } = await owner.query<{ today: string }>(`
    WITH day AS (SELECT (now() AT TIME ZONE 'UTC')::date AS today)
    SELECT today::text FROM day, payments.import_rates(jsonb_build_array(
      jsonb_build_object('date', today, 'currency', 'DKK', 'rate', 7.44)))`)
  today = rows[0]?.today ?? ''
})
afterAll(async () => {
  await owner.end()
  await payments.close()
})

const capture = (id: string, payload?: object | string, headers: object = {}) =>
  payments.app.inject({
    method: 'POST',
    url: `/transactions/${id}/captures`,
    headers: { ...member.headers, ...headers },
    ...(payload === undefined ? {} : { payload }),
  })
const limit = (most: string) => [{ field: 'amount', message: `Can capture at most ${most}`, code: 'LIMIT_EXCEEDED' }]
const KEY = { 'idempotency-key': 'k-1' }

/** Trail entries by captured EUR cents, for a merchant with DKK at the rate 7.44. The fees are EUR 0.25 and 1.35 %. */
const EXCHANGED = {
  1: { balance: 7 - 186, fee: { flat: 186, rate: 0 } },
  10: { balance: 74 - 186 - 1, fee: { flat: 186, rate: 1 } },
  // After a capture of 10. The percentage fee is rounded once for the sum of both captures.
  20: { balance: 149 - 186 - 2, fee: { flat: 186, rate: 2 } },
  30: { balance: 223 - 186 - 3, fee: { flat: 186, rate: 3 } },
  300: { balance: 2_232 - 186 - 30, fee: { flat: 186, rate: 30 } },
} as const
type Captured = keyof typeof EXCHANGED

/** Asserts the answer to a capture of a payment of EUR 3.00: the transaction with all captures so far. */
function expectCaptured(
  answer: Awaited<ReturnType<typeof capture>>,
  id: string,
  ...captures: readonly Captured[]
): void {
  const sum = captures.reduce<number>((total, amount) => total + amount, 0)
  const exchange = { rate: '7.44', date: today }
  const trail = captures.map((amount) =>
    trailEntry({ amount, capture: true, lineId: anyId, ...EXCHANGED[amount], exchange }),
  )
  const transaction = shownTransaction({ id, merchantId, pendingAmount: 300 - sum, capturedAmount: sum, trail })
  expect([answer.statusCode, answer.json()]).toEqual([201, { transaction }])
}

describe('POST /transactions/:transactionId/captures', () => {
  it('201: answers the transaction in full, exchanged at the rate of the day, less fees', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'EUR', amount: 1_000 })
    const response = await capture(id, { amount: 300, currency: 'EUR', descriptor: 'Beans', reference: 'order 1' })
    expect(response.statusCode).toBe(201)
    const { transaction } = response.json()
    const [entry] = transaction.trail
    expect(transaction).toEqual({
      id,
      merchantId,
      test: true,
      created: createdOf(id),
      currency: 'EUR',
      amount: 1_000,
      descriptor: 'Coffee & John',
      pendingAmount: 700,
      capturedAmount: 300,
      refundedAmount: 0,
      voidedAmount: 0,
      disputedAmount: 0,
      card: {
        bin: '100000',
        last4: '0000',
        expiry: '2066-08-31T23:59:59.999Z',
        scheme: 'visa',
        code: { present: expect.any(Boolean) },
      },
      recurring: false,
      successful: true,
      error: false,
      trail: [
        {
          id: entry?.id,
          capture: true,
          created: createdOf(entry?.id ?? ''),
          amount: 300,
          ...EXCHANGED[300],
          descriptor: 'Beans',
          reference: 'order 1',
          lineId: entry?.lineId,
          exchange: { rate: '7.44', date: today },
        },
      ],
    })
    expect(response.body.endsWith('}\n')).toBe(true)
    const read = await payments.app.inject({ url: `/transactions/${id}`, headers: member.headers })
    expect(read.body).toBe(response.body)
  })

  it.each([
    ['application/x-www-form-urlencoded', 'amount=100&currency=DKK&descriptor='],
    ['application/vnd.api+json', '{"amount":100,"descriptor":"","currency":null}'],
  ])('201: captures with a body of %s, in the currency of the merchant', async (contentType, payload) => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    const response = await capture(id.toUpperCase(), payload, { 'content-type': contentType })
    const transaction = shownTransaction({
      id,
      merchantId,
      created: createdOf(id),
      currency: 'DKK',
      pendingAmount: 200,
      capturedAmount: 100,
      trail: [trailEntry({ amount: 100, balance: -87, fee: { flat: 186, rate: 1 }, capture: true, lineId: anyId })],
    })
    expect(statusAndBody(response)).toEqual([201, { transaction }])
    const [entry] = response.json().transaction.trail
    expect(entry).toEqual({
      id: entry?.id,
      capture: true,
      created: createdOf(entry?.id ?? ''),
      amount: 100,
      balance: 100 - 186 - 1,
      fee: { flat: 186, rate: 1 },
      descriptor: 'Coffee & John',
      lineId: entry?.lineId,
    })
  })

  // ASVS 2.3.2
  it('201: captures any number of times up to the amount', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    expect((await capture(id, { amount: 100 })).statusCode).toBe(201)
    expect((await capture(id, { amount: 200 })).json().transaction.trail).toHaveLength(2)
  })

  it('400: captures nothing beyond the amount, and names what is possible', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    await capture(id, { amount: 100 })
    const beyond = await capture(id, { amount: 201 })
    expect([beyond.statusCode, beyond.json(), beyond.headers['x-status-code']]).toEqual([
      400,
      limit('DKK 2.00'),
      'REQUEST_INVALID',
    ])
    await capture(id, { amount: 200 })
    expect((await capture(id, { amount: 1 })).json()).toEqual(limit('DKK 0.00'))
  })

  it('201: rounds the fees of several captures together, so that they cost what one large capture costs', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 300 })
    for (const amount of [37, 37]) await capture(id, { amount })
    const response = await capture(id, { amount: 37 })
    // 1.35 % of 37, 74 and 111 is 0.4995, 0.999 and 1.4985. These sums round to 0, 1 and 1.
    const trail = [0, 1, 0].map((rate) =>
      trailEntry({ amount: 37, balance: 37 - 186 - rate, fee: { flat: 186, rate }, capture: true, lineId: anyId }),
    )
    const amounts = { currency: 'DKK', pendingAmount: 300 - 111, capturedAmount: 111 }
    expect([response.statusCode, response.json()]).toEqual([
      201,
      { transaction: shownTransaction({ id, merchantId, ...amounts, trail }) },
    ])
  })

  it.each([
    ['JPY', 300, 'JPY 300'],
    ['KWD', 1_234, 'KWD 1.234'],
  ])('400: shows the possible amount with the decimals of %s', async (currency, amount, text) => {
    const id = await customerPayment(payments, merchantId, { currency, amount })
    expect(statusAndBody(await capture(id, { amount: amount + 1 }))).toEqual([400, limit(text)])
  })

  // ASVS 2.2.3
  it('400: refuses another currency than the transaction’s, whatever the amount', async () => {
    const id = await customerPayment(payments, merchantId)
    const response = await capture(id, { amount: 999_999, currency: 'DKK' })
    expect([response.statusCode, response.json()]).toEqual([
      400,
      [{ field: 'currency', message: 'must be EUR', code: 'MISMATCH' }],
    ])
  })

  it.each<[object | string | undefined, object[]]>([
    [undefined, [{ field: 'amount', message: 'is required', code: 'REQUIRED' }]],
    [{}, [{ field: 'amount', message: 'is required', code: 'REQUIRED' }]],
    [{ amount: 0 }, [{ field: 'amount', message: 'must be at least 1', code: 'RANGE' }]],
    [{ amount: -1 }, [{ field: 'amount', message: 'must be at least 1', code: 'RANGE' }]],
    [{ amount: 1e12 }, [{ field: 'amount', message: 'must be at most 999999999999', code: 'RANGE' }]],
    [{ amount: 9.95 }, [{ field: 'amount', message: 'must be an integer', code: 'TYPE' }]],
    [{ amount: '1' }, [{ field: 'amount', message: 'must be an integer', code: 'TYPE' }]],
    [
      { amount: 1, descriptor: 'x', reference: 'r'.repeat(256) },
      [
        { field: 'descriptor', message: 'must be at least 2 characters', code: 'RANGE' },
        { field: 'reference', message: 'must be at most 255 characters', code: 'RANGE' },
      ],
    ],
  ])('400: refuses the body %j', async (payload, fields) => {
    const id = await customerPayment(payments, merchantId)
    const response = await capture(id, payload, payload === undefined ? { 'content-type': 'application/json' } : {})
    expect([response.statusCode, response.json()]).toEqual([400, fields])
    expectCaptured(await capture(id, { amount: 300 }), id, 300)
  })

  it('401: refuses an unknown key before the body is judged', async () => {
    const id = await customerPayment(payments, merchantId)
    for (const payload of [{ amount: 1 }, { amount: 0 }]) {
      expect(statusAndBody(await capture(id, payload, basic('x')))).toEqual(refusals.unauthorized)
    }
  })

  it('404: refuses an id that names no transaction, before the body is judged', async () => {
    for (const payload of [{ amount: 1 }, { amount: 0 }]) {
      for (const unknown of [UNKNOWN_ID, 'x', `${'0'.repeat(16)}${merchantId.slice(16)}`, merchantId]) {
        const response = await capture(unknown, payload)
        expect(statusAndBody(response)).toEqual(refusals.notFound)
      }
    }
  })

  it('403: refuses an app that is no member of the merchant, before the body is judged', async () => {
    const id = await customerPayment(payments, merchantId)
    for (const payload of [{ amount: 1 }, { amount: 0 }]) {
      expect(statusAndBody(await capture(id, payload, stranger.headers))).toEqual(refusals.forbidden)
    }
  })

  it('403: refuses for a merchant without the permission to capture', async () => {
    const { id: withheld } = await createTestMerchant(payments, member, { test: true })
    const id = await customerPayment(payments, withheld)
    await owner.query(`UPDATE payments.merchants SET claim = claim || '{"canCapture":false}' WHERE id = $1`, [withheld])
    for (const payload of [{ amount: 1 }, {}])
      expect(statusAndBody(await capture(id, payload))).toEqual(refusals.forbidden)
    const voided = await payments.app.inject({
      method: 'POST',
      url: `/transactions/${id}/voids`,
      headers: member.headers,
      payload: { amount: 1 },
    })
    const trail = [trailEntry({ amount: 1, void: true })]
    const transaction = shownTransaction({ id, merchantId: withheld, pendingAmount: 299, voidedAmount: 1, trail })
    expect([voided.statusCode, voided.json()]).toEqual([201, { transaction }])
  })

  it('201: captures a transaction with an id of another form only once the id has an alias', async () => {
    const id = await customerPayment(payments, merchantId)
    const seeded = 'e'.repeat(24)
    await owner.query('UPDATE payments.transactions SET id = $2 WHERE id = $1', [id, seeded])
    expect(statusAndBody(await capture(seeded, { amount: 1 }))).toEqual(refusals.notFound)
    await owner.query('INSERT INTO payments.id_aliases VALUES ($1, $2)', [seeded, merchantId])
    expectCaptured(await capture(seeded, { amount: 1 }), seeded, 1)
  })

  it('503: refuses a live merchant’s capture at a rate that is too old, and posts nothing', async () => {
    const { id: live } = await createTestMerchant(payments, member)
    const id = await customerPayment(payments, live, { currency: 'USD', number: '4111111111111111' })
    const response = await capture(id, { amount: 1 })
    expect([response.statusCode, response.json(), response.headers['retry-after']]).toEqual([
      503,
      { code: 'RATE_UNAVAILABLE', message: 'There is no recent exchange rate' },
      '60',
    ])
    expect((await payments.app.inject({ url: `/transactions/${id}`, headers: member.headers })).json()).toEqual({
      transaction: shownTransaction({
        id,
        merchantId: live,
        test: false,
        created: createdOf(id),
        currency: 'USD',
        pendingAmount: 300,
        card: shownCard({ bin: '411111', last4: '1111' }),
        trail: [],
      }),
    })
  })

  it('409: refuses when the transaction stays locked, and does nothing', async () => {
    const id = await customerPayment(payments, merchantId)
    await owner.query('BEGIN')
    const row = 'SELECT FROM payments.transactions WHERE id = $1 AND merchant_id = $2 FOR UPDATE'
    await owner.query(row, [id, merchantId])
    const response = await capture(id, { amount: 1 })
    await owner.query('ROLLBACK')
    expect(statusAndBody(response)).toEqual(refusals.conflict)
    expect(response.headers['retry-after']).toBe('1')
    expectCaptured(await capture(id, { amount: 300 }), id, 300)
  })

  it('409: refuses when the merchant’s balance stays locked', async () => {
    const id = await customerPayment(payments, merchantId)
    await owner.query('BEGIN')
    await owner.query('SELECT FROM payments.merchant_balances WHERE merchant_id = $1 FOR UPDATE', [merchantId])
    expect(statusAndBody(await capture(id, { amount: 1 }))).toEqual(refusals.conflict)
    await owner.query('ROLLBACK')
    expectCaptured(await capture(id, { amount: 300 }), id, 300)
  })
})

describe('POST /transactions/:transactionId/captures with an Idempotency-Key', () => {
  it('201: answers a repeat with the same bytes, also after later operations, in any spelling of path and body', async () => {
    const id = await customerPayment(payments, merchantId, { amount: 900 })
    const first = await capture(id, { amount: 100, descriptor: 'Beans' }, KEY)
    expect([first.statusCode, first.headers['idempotent-replayed']]).toEqual([201, undefined])
    await capture(id, { amount: 50 })
    const again = await capture(id, { descriptor: 'Beans', amount: 100 }, KEY)
    expect([again.statusCode, again.headers['idempotent-replayed'], again.body]).toEqual([201, 'true', first.body])
    const form = { ...KEY, 'content-type': 'application/x-www-form-urlencoded' }
    expect((await capture(id.toUpperCase(), 'amount=100&descriptor=Beans', form)).body).toBe(first.body)
    const other = await capture(id, { amount: 100, descriptor: 'Beans' }, { 'idempotency-key': 'k-2' })
    expect(other.json().transaction.trail).toHaveLength(3)
  })

  it('400: refuses the key with another body, and a malformed key', async () => {
    const id = await customerPayment(payments, merchantId)
    await capture(id, { amount: 100 }, KEY)
    const response = await capture(id, { amount: 101 }, KEY)
    expect([response.statusCode, response.json()]).toEqual([
      400,
      [{ field: 'Idempotency-Key', message: 'was used with another body', code: 'MISMATCH' }],
    ])
    expect(statusAndBody(await capture(id, { amount: 1 }, { 'idempotency-key': 'a b' }))).toEqual(
      refusedField('Idempotency-Key', 'must be 1 to 255 printable ASCII characters without spaces', 'FORMAT'),
    )
  })

  it('201: captures by a key under which a request was refused', async () => {
    const id = await customerPayment(payments, merchantId)
    expect(statusAndBody(await capture(id, { amount: 301 }, KEY))).toEqual(
      refusedField('amount', 'Can capture at most EUR 3.00', 'LIMIT_EXCEEDED'),
    )
    expect(statusAndBody(await capture(id, { amount: 0 }, KEY))).toEqual(
      refusedField('amount', 'must be at least 1', 'RANGE'),
    )
    expectCaptured(await capture(id, { amount: 300 }, KEY), id, 300)
  })

  it('201: keeps keys of other clients, transactions and operations apart', async () => {
    const [id, second] = [await customerPayment(payments, merchantId), await customerPayment(payments, merchantId)]
    const { id: appId, headers } = await createTestApp(payments)
    await owner.query('INSERT INTO payments.merchant_apps (merchant_id, app_id, created) VALUES ($1, $2, now())', [
      merchantId,
      appId,
    ])
    expect((await capture(id, { amount: 10 }, KEY)).headers['idempotent-replayed']).toBeUndefined()
    expectCaptured(await capture(id, { amount: 20 }, { ...KEY, ...headers }), id, 10, 20)
    expectCaptured(await capture(second, { amount: 30 }, KEY), second, 30)
    await owner.query('DELETE FROM payments.merchant_apps WHERE app_id = $1', [appId])
    expect(statusAndBody(await capture(id, { amount: 20 }, { ...KEY, ...headers }))).toEqual(refusals.forbidden)
  })
})
