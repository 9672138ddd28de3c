import { anyId } from '@trestle/testing/any-text.ts'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  askedAuthorization,
  expectBody,
  refusals,
  refusedField,
  statusAndBody,
  transactionRow,
} from '../../../test/bodies.ts'
import { type CustomerPayment, customerPayment } from '../../../test/customer-payment.ts'
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
import type { Acquirer, AuthorizationRequest } from '../../acquirers/acquirer.ts'
import { buildApp } from '../../app.ts'
import { processingError } from '../../transactions/processing-error.ts'

const authorizations: AuthorizationRequest[] = []
const approve: Acquirer['authorize'] = async () => ({ verdict: 'approved', ref: 'north-1', networkRef: null })
let answer = approve
const north: Acquirer = {
  authorize: (request) => {
    authorizations.push(request)
    return answer(request)
  },
  inquire: unused,
  reverse: unused,
  submit: unused,
  events: unused,
  acknowledge: unused,
}
function unused(): never {
  throw new Error('not asked for here')
}

let payments: TestPayments
let member: TestApp
let stranger: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
})
afterAll(() => payments.close())

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const post = (payload: object | string, headers: object = {}, id = merchantId) =>
  payments.app.inject({
    method: 'POST',
    url: `/merchants/${id}/transactions`,
    headers: { ...member.headers, ...headers },
    payload,
  })
const pay = (payment?: CustomerPayment) => customerPayment(payments, merchantId, payment)
const row = (id: string) =>
  payments.database.db.selectFrom('transactions').selectAll().where('id', '=', id).executeTakeFirst()
const idOf = (response: LightMyRequestResponse) => expectBody(201, response).transaction.id
/** The answer to a successful charge. */
const MADE = [201, { transaction: { id: anyId } }]
const newest = (id = merchantId) =>
  payments.database.db
    .selectFrom('transactions')
    .selectAll()
    .where('merchant_id', '=', id)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
const count = async () =>
  (await payments.database.db.selectFrom('transactions').select('id').where('merchant_id', '=', merchantId).execute())
    .length

describe('POST /merchants/:merchantId/transactions', () => {
  it.each<[string, (source: string) => object | string, object]>([
    ['JSON', (transactionId) => ({ transactionId, currency: 'EUR', amount: 300 }), {}],
    ['form', (transactionId) => `transactionId=${transactionId}&currency=EUR&amount=300`, FORM],
    ['JSON of the official client', (id) => ({ transactionId: id, cardId: false, currency: 'EUR', amount: 300 }), {}],
    ['JSON with the other name', (authorizationId) => ({ authorizationId, currency: 'EUR', amount: 300 }), {}],
    ['JSON with both names', (id) => ({ transactionId: id, authorizationId: id, currency: 'EUR', amount: 300 }), {}],
    ['JSON in upper case', (id) => ({ transactionId: id.toUpperCase(), currency: 'EUR', amount: 300 }), {}],
  ])('201: charges the card of a previous transaction, as %s', async (_kind, body, headers) => {
    const source = await pay()
    const response = await post(body(source), headers)
    const id = idOf(response)
    expect([response.statusCode, response.body]).toEqual([201, `{"transaction":{"id":"${id}"}}\n`])
    const { instrument_id } = (await row(source)) ?? {}
    expect(await row(id)).toEqual({
      merchant_id: merchantId,
      id,
      created: new Date(createdOf(id)),
      instrument_id,
      source_id: source,
      test: true,
      currency: 'EUR',
      funding_currency: 'DKK',
      amount: 300n,
      descriptor: 'Coffee & John',
      reference: null,
      pending: 300n,
      captured: 0n,
      refunded: 0n,
      voided: 0n,
      disputed: 0n,
      lost: 0n,
      trail_length: 0,
      custom: null,
      tds: null,
      recurring: true,
      successful: true,
      error_code: null,
      plan: null,
      unplanned: null,
      code_present: false,
      session_id: null,
      acquirer: null,
      acquirer_ref: expect.stringMatching(/^sim_[0-9a-f]{24}$/),
      disputed_at_capture: false,
      last4: '0000',
    })
  })

  it('201: stores descriptor, custom and reference, also a reference in custom', async () => {
    const transactionId = await pay()
    const body = { transactionId, currency: 'USD', amount: 999_999_999_999, descriptor: 'Awesome #5011' }
    const custom = { a: ['x', { b: null }], reference: 'order 1' }
    const first = await row(idOf(await post({ ...body, custom })))
    expect(first).toEqual(
      transactionRow({
        merchant_id: merchantId,
        source_id: transactionId,
        currency: 'USD',
        amount: 999_999_999_999n,
        descriptor: 'Awesome #5011',
        reference: 'order 1',
        custom,
        acquirer_ref: expect.any(String),
        pending: 999_999_999_999n,
      }),
    )
    const second = await row(idOf(await post({ ...body, custom, reference: 'own' })))
    expect(second).toEqual(
      transactionRow({
        merchant_id: merchantId,
        instrument_id: first?.instrument_id,
        source_id: transactionId,
        currency: 'USD',
        amount: 999_999_999_999n,
        descriptor: 'Awesome #5011',
        reference: 'own',
        custom,
        acquirer_ref: expect.any(String),
        pending: 999_999_999_999n,
      }),
    )
    const form = `transactionId=${transactionId}&currency=USD&amount=1&custom[a]=1&custom[b][c]=yes&descriptor=`
    expect(await row(idOf(await post(form, FORM)))).toEqual(
      transactionRow({
        merchant_id: merchantId,
        instrument_id: first?.instrument_id,
        source_id: transactionId,
        currency: 'USD',
        amount: 1n,
        descriptor: 'Coffee & John',
        reference: null,
        custom: { a: '1', b: { c: 'yes' } },
        acquirer_ref: expect.any(String),
        pending: 1n,
      }),
    )
  })

  it('201: uses one instrument for all charges, and shows the source in the event', async () => {
    const first = await pay()
    const second = idOf(await post({ transactionId: first, currency: 'EUR', amount: 1 }))
    const third = idOf(await post({ transactionId: second, currency: 'EUR', amount: 2 }))
    const rows = await Promise.all([first, second, third].map(row))
    expect(new Set(rows.map((found) => found?.instrument_id)).size).toBe(1)
    expect(rows.map((found) => found?.source_id)).toEqual([null, first, second])
    const events = await payments.database.db
      .selectFrom('events')
      .select(['type', 'object_id', 'pending', 'trail_length'])
      .where('object_id', '=', third)
      .execute()
    expect(events).toEqual([{ type: 'transaction.created', object_id: third, pending: 2n, trail_length: 0 }])
  })

  it.each([6, 7, 8, 9, 10, 11, 12, 25])(
    '400: refuses with processing error %i, and keeps what was refused',
    async (code) => {
      const transactionId = await pay({ number: `10000000000900${String(code).padStart(2, '0')}` })
      const response = await post({ transactionId, currency: 'EUR', amount: 300 })
      expect(response.statusCode).toBe(400)
      expect(response.json()).toEqual(processingError(code))
      expect(response.body.split('\n')).toHaveLength(2)
      expect(await newest()).toEqual(
        transactionRow({
          merchant_id: merchantId,
          source_id: transactionId,
          amount: 300n,
          recurring: true,
          successful: false,
          error_code: code,
          last4: `00${String(code).padStart(2, '0')}`,
          pending: 0n,
          captured: 0n,
          refunded: 0n,
          voided: 0n,
          disputed: 0n,
          trail_length: 0,
        }),
      )
    },
  )

  it('400: refuses an expired card by the merchant’s clock, before the acquirer is asked', async () => {
    const { id } = await createTestMerchant(payments, member, { test: true })
    const transactionId = await customerPayment(payments, id, { expiry: { month: 8, year: 2066 } })
    const body = { transactionId, currency: 'EUR', amount: 1 }
    expect(statusAndBody(await post(body, {}, id))).toEqual(MADE)
    const advance = (Date.UTC(2066, 8, 1) - Date.now()) / 1_000
    const clock = { method: 'POST', url: `/test/merchants/${id}/clock`, headers: member.headers } as const
    await payments.app.inject({ ...clock, payload: { advance: Math.floor(advance) - 60 } })
    expect(statusAndBody(await post(body, {}, id))).toEqual(MADE)
    await payments.app.inject({ ...clock, payload: { advance: 120 } })
    expect(statusAndBody(await post(body, {}, id))).toEqual([400, processingError(6)])
    expect(await newest(id)).toEqual(
      transactionRow({ merchant_id: id, source_id: transactionId, amount: 1n, successful: false, error_code: 6 }),
    )
  })

  const required = (field: string) => ({ field, message: 'is required', code: 'REQUIRED' })
  it.each<[object | string, object, readonly object[]]>([
    ['', FORM, [required('transactionId'), required('currency'), required('amount')]],
    [{}, {}, [required('transactionId'), required('currency'), required('amount')]],
    [
      { transactionId: false, cardId: false },
      {},
      [required('transactionId'), required('currency'), required('amount')],
    ],
  ])('400: names the missing members of %j', async (payload, headers, fields) => {
    const response = await post(payload, headers)
    expect([response.statusCode, response.json()]).toEqual([400, fields])
  })

  const good = { transactionId: UNKNOWN_ID, currency: 'EUR', amount: 1 }
  it.each<[object, string, string, string]>([
    [{ transactionId: 5 }, 'transactionId', 'TYPE', 'must be a string'],
    [{ transactionId: true }, 'transactionId', 'TYPE', 'must be a string'],
    [{ transactionId: 'x' }, 'transactionId', 'FORMAT', 'must be 24 hexadecimal digits'],
    [{ authorizationId: 'e'.repeat(24) }, 'authorizationId', 'MISMATCH', 'must be the same as transactionId'],
    [{ cardId: UNKNOWN_ID }, 'cardId', 'DUPLICATE', 'cannot be given beside a transaction'],
    [{ descriptor: 'x' }, 'descriptor', 'RANGE', 'must be at least 2 characters'],
    [{ descriptor: 'é'.repeat(3) }, 'descriptor', 'FORMAT', 'must be printable ASCII characters'],
    [{ currency: 'eur' }, 'currency', 'FORMAT', 'must be three upper-case letters'],
    [{ currency: 'XXX' }, 'currency', 'UNKNOWN', 'must be a currency that can be charged'],
    [{ amount: 0 }, 'amount', 'RANGE', 'must be at least 1'],
    [{ amount: -1 }, 'amount', 'RANGE', 'must be at least 1'],
    [{ amount: 1_000_000_000_000 }, 'amount', 'RANGE', 'must be at most 999999999999'],
    [{ amount: 9.95 }, 'amount', 'TYPE', 'must be an integer'],
    [{ amount: '995' }, 'amount', 'TYPE', 'must be an integer'],
    [{ custom: 'x' }, 'custom', 'TYPE', 'must be an object'],
    [{ custom: [] }, 'custom', 'TYPE', 'must be an object'],
    [{ custom: { a: 'x'.repeat(50_000) } }, 'custom', 'RANGE', 'must be at most 50000 bytes'],
    [{ custom: { a: { 'b\0': 1 } } }, 'custom', 'FORMAT', 'must not contain U+0000 or lone surrogates'],
    [{ custom: { a: ['\ud800'] } }, 'custom', 'FORMAT', 'must not contain U+0000 or lone surrogates'],
    [{ reference: 'x'.repeat(256) }, 'reference', 'RANGE', 'must be at most 255 characters'],
    [{ transactionId: UNKNOWN_ID }, 'transactionId', 'UNKNOWN', 'must be of a successful payment of this merchant'],
    [
      { transactionId: false, authorizationId: UNKNOWN_ID },
      'authorizationId',
      'UNKNOWN',
      'must be of a successful payment of this merchant',
    ],
    [
      { transactionId: false, cardId: UNKNOWN_ID },
      'cardId',
      'UNKNOWN',
      'must be of a successful payment of this merchant',
    ],
  ])('400: refuses %j, and leaves no transaction', async (changes, field, code, message) => {
    const before = await count()
    const response = await post({ ...good, ...changes })
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual([{ field, message, code }])
    expect(await count()).toBe(before)
  })

  it('400: refuses a source of another merchant, and a refused source', async () => {
    const other = await createTestMerchant(payments, member, { test: true })
    const foreign = await customerPayment(payments, other.id)
    const refusedNumber = await pay({ number: '1000000000090007' })
    await post({ transactionId: refusedNumber, currency: 'EUR', amount: 1 })
    const refused = (await newest())?.id ?? ''
    for (const transactionId of [foreign, refused]) {
      expect(statusAndBody(await post({ ...good, transactionId }))).toEqual(
        refusedField('transactionId', 'must be of a successful payment of this merchant', 'UNKNOWN'),
      )
    }
  })

  it('400: refuses with processing error 27 for a merchant that may not charge, and stores no transaction', async () => {
    const { id } = await createTestMerchant(payments, member, { test: true })
    const transactionId = await customerPayment(payments, id)
    const { db } = payments.database
    const { claim } = await db.selectFrom('merchants').select('claim').where('id', '=', id).executeTakeFirstOrThrow()
    await db
      .updateTable('merchants')
      .set({ claim: JSON.stringify({ ...claim, canChargeCard: false }) })
      .where('id', '=', id)
      .execute()
    const response = await post({ ...good, transactionId }, {}, id)
    expect([response.statusCode, response.json()]).toEqual([400, processingError(27)])
    expect(response.headers['x-status-code']).toBe('PAYMENT_INTEGRATION_DISABLED')
    expect((await newest(id))?.id).toBe(transactionId)
  })

  it('400: refuses a key that was used with another body', async () => {
    const transactionId = await pay()
    const key = { 'idempotency-key': 'k' }
    expect(statusAndBody(await post({ transactionId, currency: 'EUR', amount: 1 }, key))).toEqual(MADE)
    const response = await post({ transactionId, currency: 'EUR', amount: 2 }, key)
    expect([response.statusCode, response.json()]).toEqual([
      400,
      [{ field: 'Idempotency-Key', message: 'was used with another body', code: 'MISMATCH' }],
    ])
  })

  it('400: refuses a currency without a rate, and frees the key', async () => {
    const transactionId = await pay()
    const key = { 'idempotency-key': 'no-rate' }
    const { db } = payments.database
    const rates = await db.selectFrom('fx_rates').selectAll().where('currency', '=', 'ISK').execute()
    await db.deleteFrom('fx_rates').where('currency', '=', 'ISK').execute()
    const response = await post({ transactionId, currency: 'ISK', amount: 1 }, key)
    expect([response.statusCode, response.json()]).toEqual([
      400,
      [{ field: 'currency', message: 'has no exchange rate', code: 'UNKNOWN' }],
    ])
    await db.insertInto('fx_rates').values(rates).execute()
    expect(statusAndBody(await post({ transactionId, currency: 'ISK', amount: 1 }, key))).toEqual(MADE)
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    const refusal = async (id: string, headers: object, payload: object = good) =>
      statusAndBody(await post(payload, headers, id))
    expect(await refusal(UNKNOWN_ID, basic('x'), {})).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant before the body is judged', async () => {
    const refusal = async (id: string, headers: object, payload: object = good) =>
      statusAndBody(await post(payload, headers, id))
    expect(await refusal(UNKNOWN_ID, stranger.headers, {})).toEqual(refusals.notFound)
    expect(await refusal('nonsense', stranger.headers)).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the body is judged', async () => {
    const refusal = async (id: string, headers: object, payload: object = good) =>
      statusAndBody(await post(payload, headers, id))
    expect(await refusal(merchantId, stranger.headers, {})).toEqual(refusals.forbidden)
    expect(await refusal(merchantId, stranger.headers)).toEqual(refusals.forbidden)
  })
})

describe('POST /merchants/:merchantId/transactions of a live merchant', () => {
  const number = '4242424242424242'
  let live: string
  let source: string
  beforeEach(async () => {
    authorizations.length = 0
    answer = approve
    live = (await createTestMerchant(payments, member, { currency: 'EUR' })).id
    source = await customerPayment(payments, live, { number })
    await give('north')
  })
  const give = (acquirer: string | null) =>
    payments.database.db.updateTable('merchants').set({ acquirer }).where('id', '=', live).execute()
  const charge = (headers: object = {}) => post({ transactionId: source, currency: 'EUR', amount: 500 }, headers, live)

  it('400: refuses with processing error 27 without an acquirer, or with an acquirer that is not configured', async () => {
    for (const acquirer of [null, 'south']) {
      await give(acquirer)
      expect(statusAndBody(await charge())).toEqual([400, processingError(27)])
    }
    expect((await newest(live))?.id).toBe(source)
    expect(authorizations).toEqual([])
  })

  it('201: asks the acquirer under the id of the attempt, with the card number from the vault', async () => {
    const id = idOf(await charge())
    expect(await row(id)).toEqual(
      transactionRow({
        merchant_id: live,
        funding_currency: 'EUR',
        id,
        source_id: source,
        test: false,
        last4: '4242',
        amount: 500n,
        acquirer: 'north',
        acquirer_ref: 'north-1',
        pending: 500n,
      }),
    )
    const [request] = authorizations.splice(0)
    expect(request).toEqual(
      askedAuthorization({
        merchantId: live,
        money: { currency: 'EUR', amount: 500 },
        descriptor: 'Coffee & John',
        card: { expiry: '2066-08-31', scheme: 'visa', number: expect.any(Function), code: null },
        initiator: 'merchant',
        planned: false,
        networkRef: null,
      }),
    )
    expect(request?.card.number()).toBe(number)
    const attempts = await payments.database.db
      .selectFrom('attempts')
      .select(['id', 'state', 'kind'])
      .where('merchant_id', '=', live)
      .execute()
    expect(attempts).toEqual([{ id: request?.idempotencyRef, state: 'approved', kind: 'charge' }])
  })

  it.each<[string, Acquirer['authorize']]>([
    ['says that it does not know', async () => ({ verdict: 'unknown' })],
    ['breaks', () => Promise.reject(new Error('reset'))],
  ])(
    '400: refuses with processing error 12 when the acquirer %s, and leaves the outcome to a job',
    async (name, authorize) => {
      answer = authorize
      const response = await charge({ 'idempotency-key': name.replaceAll(' ', '-') })
      expect([response.statusCode, response.json()]).toEqual([400, processingError(12)])
      const attemptId = authorizations.splice(0)[0]?.idempotencyRef ?? ''
      const { db } = payments.database
      expect(await db.selectFrom('attempts').select('state').where('id', '=', attemptId).execute()).toEqual([
        { state: 'unknown' },
      ])
      expect(
        await db.selectFrom('outbox').select(['kind', 'merchant_id']).where('id', '=', attemptId).execute(),
      ).toEqual([{ kind: 'inquiry', merchant_id: live }])
      const again = await charge({ 'idempotency-key': name.replaceAll(' ', '-') })
      expect([again.body, again.headers['idempotent-replayed']]).toEqual([response.body, 'true'])
      expect(authorizations).toEqual([])
    },
  )

  it('201: asks the acquirer once for 50 requests with one key, and gives all of them one answer', async () => {
    answer = async () => ({ verdict: 'approved', ref: 'north-2', networkRef: null })
    const responses = await Promise.all(Array.from({ length: 50 }, () => charge({ 'idempotency-key': 'once' })))
    expect(new Set(responses.map(({ statusCode, body }) => `${statusCode} ${body}`))).toEqual(
      new Set([`201 ${responses[0]?.body}`]),
    )
    expect(responses.filter(({ headers }) => headers['idempotent-replayed'] === 'true')).toHaveLength(49)
    expect(authorizations.splice(0)).toHaveLength(1)
  })

  it('201: lets a repeat wait up to 5 s for the charge of the first request', async () => {
    const [pending, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    answer = async () => {
      reached.resolve()
      await pending.promise
      return { verdict: 'approved', ref: 'north-3', networkRef: null }
    }
    const waits: number[] = []
    const wait = async (ms: number) => void waits.push(ms)
    const hasty = await buildApp({ ...payments.deps, wait })
    const request = {
      ...({ method: 'POST', url: `/merchants/${live}/transactions` } as const),
      headers: { ...member.headers, 'idempotency-key': 'elsewhere' },
      payload: { transactionId: source, currency: 'EUR', amount: 7 },
    }
    const first = payments.app.inject(request)
    await reached.promise
    const late = await hasty.inject(request)
    expect(statusAndBody(late)).toEqual(refusals.conflict)
    expect([late.headers['retry-after'], waits.reduce((a, b) => a + b)]).toEqual(['1', 5_000])
    const second = payments.app.inject(request)
    pending.resolve()
    const { statusCode, body, headers } = await second
    expect([statusCode, body, headers['idempotent-replayed']]).toEqual([201, (await first).body, 'true'])
    expect(authorizations.splice(0)).toHaveLength(1)
    await hasty.close()
  })
})
