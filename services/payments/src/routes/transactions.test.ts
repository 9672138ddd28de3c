import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, shownCard, shownTransaction, statusAndBody } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
})
afterAll(() => payments.close())

const get = (url: string, headers: object = {}) =>
  payments.app.inject({ url, headers: { ...member.headers, ...headers } })
const post = (url: string, payload: object) =>
  payments.app.inject({ method: 'POST', url, payload, headers: member.headers })

describe('GET /transactions/:transactionId', () => {
  it('200: shows every member of a new transaction', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'JPY', amount: 300, number: '2000000000000000' })
    const response = await get(`/transactions/${id.toUpperCase()}`)
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({
      transaction: {
        id,
        merchantId,
        test: true,
        created: createdOf(id),
        currency: 'JPY',
        amount: 300,
        descriptor: 'Coffee & John',
        pendingAmount: 300,
        capturedAmount: 0,
        refundedAmount: 0,
        voidedAmount: 0,
        disputedAmount: 0,
        card: {
          bin: '200000',
          last4: '0000',
          expiry: '2066-08-31T23:59:59.999Z',
          scheme: 'mastercard',
          code: { present: expect.any(Boolean) },
        },
        recurring: false,
        successful: true,
        error: false,
        trail: [],
      },
    })
    expect((await get(`/transactions/${id}/`)).body).toBe(response.body)
  })

  it('200: shows a charge with its source and the fields of the client', async () => {
    const source = await customerPayment(payments, merchantId)
    const custom = { order: { lines: [1, 'ø'] } }
    const charge = {
      transactionId: source,
      currency: 'EUR',
      amount: 100,
      descriptor: 'Again',
      custom,
      reference: 'r 1',
    }
    const response = await post(`/merchants/${merchantId}/transactions`, charge)
    const { id } = response.json().transaction
    const shown = await get(`/transactions/${id}`)
    expect(shown.statusCode).toBe(200)
    expect(shown.json().transaction).toEqual(
      shownTransaction({
        id,
        merchantId,
        created: createdOf(id),
        amount: 100,
        descriptor: 'Again',
        pendingAmount: 100,
        card: shownCard({ code: { present: false } }),
        recurring: true,
        successful: true,
        error: false,
        reference: 'r 1',
        custom,
        sourceTransactionId: source,
      }),
    )
  })

  it('200: shows a refused transaction with its error and without amounts', async () => {
    const source = await customerPayment(payments, merchantId, { number: '1000000000090007' })
    const answer = await post(`/merchants/${merchantId}/transactions`, {
      transactionId: source,
      currency: 'EUR',
      amount: 100,
    })
    expect(answer.statusCode).toBe(400)
    const list = await get(`/merchants/${merchantId}/transactions?limit=1&filter[successful]=n`)
    const [refused] = list.json()
    expect(statusAndBody(await get(`/transactions/${refused?.id}`))).toEqual([200, { transaction: refused }])
    expect(refused).toEqual(
      shownTransaction({
        merchantId,
        amount: 100,
        pendingAmount: 0,
        capturedAmount: 0,
        card: shownCard({ last4: '0007', code: { present: false } }),
        recurring: true,
        successful: false,
        error: answer.json(),
        trail: [],
        sourceTransactionId: source,
      }),
    )
    expect(answer.json()).toEqual({
      code: 7,
      message: 'Insufficient funds',
      text: 'Insufficient funds',
      client: true,
      merchant: false,
    })
  })

  it('200: shows disputes in the trail', async () => {
    const id = await customerPayment(payments, merchantId, { currency: 'DKK' })
    await post(`/transactions/${id}/captures`, { amount: 300 })
    const disputes: string[] = []
    for (const [amount, outcome] of [
      [100, 'won'],
      [200, 'lost'],
    ] as const) {
      const opened = await post(`/test/transactions/${id}/disputes`, { amount })
      const dispute = opened.json().dispute.id
      expect((await get(`/transactions/${id}`)).json().transaction.disputedAmount).toBe(amount)
      await post(`/test/disputes/${dispute}/outcomes`, { outcome })
      disputes.push(dispute)
    }
    const { transaction } = expectBody(200, await get(`/transactions/${id}`))
    expect(transaction.disputedAmount).toBe(200)
    expect(transaction.trail.slice(1)).toEqual([
      {
        id: expect.any(String),
        dispute: { id: disputes[0], won: true },
        created: expect.any(String),
        amount: 100,
        balance: 0,
        fee: { flat: 0, rate: 0 },
        descriptor: 'Coffee & John',
      },
      {
        id: expect.any(String),
        dispute: { id: disputes[1], lost: true },
        created: expect.any(String),
        amount: 200,
        balance: -200 - 18_640,
        fee: { flat: 18_640, rate: 0 },
        descriptor: 'Coffee & John',
        lineId: expect.any(String),
      },
    ])
  })

  it('401: refuses an unknown key of a good transaction', async () => {
    const id = await customerPayment(payments, merchantId)
    expect(statusAndBody(await get(`/transactions/${id}`, basic('x')))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an id that names no transaction', async () => {
    const id = await customerPayment(payments, merchantId)
    for (const unknown of [UNKNOWN_ID, 'x', `${id}0`])
      expect(statusAndBody(await get(`/transactions/${unknown}`))).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member of its merchant', async () => {
    const id = await customerPayment(payments, merchantId)
    const stranger = await createTestApp(payments)
    expect(statusAndBody(await get(`/transactions/${id}`, stranger.headers))).toEqual(refusals.forbidden)
  })
})

describe('GET /merchants/:merchantId/transactions', () => {
  let id: string
  let transactionIds: string[]
  beforeAll(async () => {
    id = (await createTestMerchant(payments, member, { test: true })).id
    transactionIds = []
    for (const currency of ['EUR', 'DKK', 'EUR', 'USD', 'EUR'])
      transactionIds.push(await customerPayment(payments, id, { currency }))
    await post(`/transactions/${transactionIds[1]}/captures`, { amount: 10 })
    await post(`/merchants/${id}/transactions`, { transactionId: transactionIds[0], currency: 'EUR', amount: 5 })
  })
  const list = async (query: string) =>
    expectBody(200, await get(`/merchants/${id}/transactions?${query}`)).map((each: { id: string }) => each.id)

  it('200: lists the newest first, one a line, each as it is shown alone', async () => {
    const response = await get(`/merchants/${id}/transactions?limit=1000`)
    const ids = expectBody(200, response).map((each: { id: string }) => each.id)
    expect(ids.slice(1)).toEqual(transactionIds.toReversed())
    expect(response.body.split('\n')).toHaveLength(ids.length + 3)
    for (const [index, each] of response.json().entries()) {
      expect(statusAndBody(await get(`/transactions/${ids[index]}`))).toEqual([200, { transaction: each }])
    }
  })

  it('200: pages before and after a cursor', async () => {
    const all = await list('limit=1000')
    expect(await list(`limit=2&before=${all[1]}`)).toEqual(all.slice(2, 4))
    expect(await list(`limit=2&after=${all[3]}`)).toEqual([all[2], all[1]])
    expect(await list(`limit=9&after=${all[4]}&before=${all[0]}`)).toEqual(all.slice(1, 4))
  })

  it('200: filters by each documented parameter', async () => {
    const all = await list('limit=1000')
    expect(await list('limit=9&filter[currency]=DKK')).toEqual([transactionIds[1]])
    expect(await list('limit=9&filter[recurring]=y')).toEqual(all.slice(0, 1))
    expect(await list('limit=9&filter[recurring]=n&filter[currency]=EUR')).toEqual([
      transactionIds[4],
      transactionIds[2],
      transactionIds[0],
    ])
    expect(await list('limit=9&filter[successful]=n')).toEqual([])
    expect(await list('limit=9&filter[test]=1')).toEqual(all)
    expect(await list('limit=9&filter[test]=0')).toEqual([])
  })

  it('400: refuses limits, cursors and filters, after 404 and 403', async () => {
    const fields = async (query: string) =>
      expectBody(400, await get(`/merchants/${id}/transactions?${query}`)).map(({ field }: { field: string }) => field)
    expect(await fields('')).toEqual(['limit'])
    expect(await fields('limit=0&before=x&filter[recurring]=maybe')).toEqual(['limit', 'before', 'filter.recurring'])
    const stranger = await createTestApp(payments)
    expect(statusAndBody(await get(`/merchants/${UNKNOWN_ID}/transactions`))).toEqual(refusals.notFound)
    expect(statusAndBody(await get(`/merchants/${id}/transactions`, stranger.headers))).toEqual(refusals.forbidden)
    expect(statusAndBody(await get(`/merchants/${id}/transactions`, basic('x')))).toEqual(refusals.unauthorized)
  })
})
