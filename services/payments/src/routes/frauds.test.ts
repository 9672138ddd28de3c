import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, statusAndBody } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
let merchantId: string
let transactionId: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
  transactionId = await customerPayment(payments, merchantId)
})
afterAll(() => payments.close())

const report = (id = transactionId) =>
  payments.app.inject({
    method: 'POST',
    url: `/test/transactions/${id}/frauds`,
    headers: member.headers,
    payload: {},
  })
const get = (url: string, headers: object = {}) =>
  payments.app.inject({ url, headers: { ...member.headers, ...headers } })
const fraudOf = (response: LightMyRequestResponse) => response.json().fraud

describe('GET /frauds', () => {
  it('200: pages newest first, oldest first after a cursor, and by transaction', async () => {
    const { id } = await createTestMerchant(payments, member, { test: true })
    const [one, two] = [await customerPayment(payments, id), await customerPayment(payments, id)]
    const [a, b, c] = [await report(one), await report(two), await report(one)].map(fraudOf)
    const list = async (query: string) => expectBody(200, await get(`/frauds?limit=2&filter[merchantId]=${id}${query}`))
    expect(await list('')).toEqual([c, b])
    expect(await list(`&before=${b?.id}`)).toEqual([a])
    expect(await list(`&after=${a?.id}`)).toEqual([b, c])
    expect(await list(`&filter[transactionId]=${one}`)).toEqual([c, a])
    expect(await list(`&filter[transactionId]=${UNKNOWN_ID}`)).toEqual([])
    expect(await list('&filter[test]=no')).toEqual([])
  })

  it('400: requires the merchant and the limit', async () => {
    const response = await get('/frauds')
    expect([response.statusCode, response.json()]).toEqual([
      400,
      ['limit', 'filter.merchantId'].map((field) => ({ field, message: 'is required', code: 'REQUIRED' })),
    ])
  })

  it('401: refuses an unknown key before it looks for a merchant or a fraud alert', async () => {
    const { id } = fraudOf(await report())
    const refusal = async (url: string, headers: object = {}) => statusAndBody(await get(url, headers))
    expect(await refusal('/frauds', basic('x'))).toEqual(refusals.unauthorized)
    expect(await refusal(`/frauds/${id}`, basic('x'))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant or fraud alert', async () => {
    const refusal = async (url: string, headers: object = {}) => statusAndBody(await get(url, headers))
    expect(await refusal(`/frauds?limit=1&filter[merchantId]=${UNKNOWN_ID}`)).toEqual(refusals.notFound)
    expect(await refusal(`/frauds/${UNKNOWN_ID}`)).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member of the merchant', async () => {
    const { id } = fraudOf(await report())
    const refusal = async (url: string, headers: object = {}) => statusAndBody(await get(url, headers))
    expect(await refusal(`/frauds?limit=1&filter[merchantId]=${merchantId}`, stranger.headers)).toEqual(
      refusals.forbidden,
    )
    expect(await refusal(`/frauds/${id}`, stranger.headers)).toEqual(refusals.forbidden)
  })
})

describe('POST /merchants/:merchantId/transactions with a card that is reported as fraud', () => {
  it('201: adds an alert with reason 1 at the same time as the authorization', async () => {
    const { id } = await createTestMerchant(payments, member, { test: true })
    const source = await customerPayment(payments, id, { number: '1000000000030000' })
    const charge = await payments.app.inject({
      method: 'POST',
      url: `/merchants/${id}/transactions`,
      headers: member.headers,
      payload: { transactionId: source, currency: 'EUR', amount: 1 },
    })
    const { transaction } = charge.json()
    expect((await get(`/frauds?limit=9&filter[merchantId]=${id}`)).json()).toEqual([
      { transactionId: transaction.id, reason: 1, id: anyId, merchantId: id, created: anyTime },
    ])
  })
})
