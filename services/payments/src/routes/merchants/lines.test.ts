import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, statusAndBody } from '../../../test/bodies.ts'
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
let merchantId: string
let transactionId: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  const bank = { iban: 'DK5000400440116243' }
  merchantId = (await createTestMerchant(payments, member, { test: true, bank })).id
  transactionId = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 90_000 })
  await post(`/transactions/${transactionId}/captures`, { amount: 80_000 })
  await post(`/transactions/${transactionId}/voids`, { amount: 10_000 })
  await post(`/transactions/${transactionId}/refunds`, { amount: 5_000 })
  const { dispute } = (await post(`/test/transactions/${transactionId}/disputes`, { amount: 100 })).json()
  await post(`/test/disputes/${dispute.id}/outcomes`, { outcome: 'lost' })
  await post(`/test/merchants/${merchantId}/payouts`, {})
})
afterAll(() => payments.close())

const get = (url: string, headers: object = {}) =>
  payments.app.inject({ url, headers: { ...member.headers, ...headers } })
const post = (url: string, payload: object) =>
  payments.app.inject({ method: 'POST', url, payload, headers: member.headers })
const list = async (query: string) =>
  expectBody(200, await get(`/merchants/${merchantId}/lines?${query}`)).map(({ id }: { id: string }) => id)

describe('GET /merchants/:merchantId/lines', () => {
  it('200: lists the changes of the balance, newest first', async () => {
    const response = await get(`/merchants/${merchantId}/lines?limit=10`)
    expect(response.statusCode).toBe(200)
    const lines = response.json()
    const line = (place: number, balance: number, balanceAfter: number, rest: object) => {
      const id = lines[place]?.id ?? ''
      return { id, merchantId, test: true, created: createdOf(id), balance, balanceAfter, ...rest }
    }
    const card = (word: string, fee: number, amount: number) => ({
      fee,
      description: `${word} ${transactionId}`,
      transactionId,
      amount: { currency: 'DKK', amount },
    })
    const paid = lines[0]?.description.slice('Payout '.length)
    expect(lines).toEqual([
      line(0, -54_994, 0, { description: `Payout ${paid}`, payout: true }),
      line(1, -18_740, 54_994, { ...card('Dispute', 18_640, 100), dispute: true }),
      line(2, -5_000, 73_734, { ...card('Refund', 0, 5_000), refund: true }),
      line(3, 78_734, 78_734, { ...card('Capture', 1_266, 80_000), capture: true }),
    ])
    const { trail } = (await get(`/transactions/${transactionId}`)).json().transaction
    expect(trail[0].lineId).toBe(lines[3]?.id)
    const merchant = (await get(`/merchants/${merchantId}`)).json().merchant
    expect(merchant.balance).toBe(0)
  })

  it('200: pages both ways, filters, and answers an empty page', async () => {
    const all = await list('limit=10')
    expect(await list(`limit=2&before=${all[0]}`)).toEqual(all.slice(1, 3))
    expect(await list(`limit=2&after=${all[3]}`)).toEqual([all[2], all[1]])
    expect(await list('limit=1&filter[test]=y')).toEqual(all.slice(0, 1))
    const empty = await get(`/merchants/${merchantId}/lines?limit=1&filter[test]=n`)
    expect([empty.statusCode, empty.body]).toEqual([200, '[\n]\n'])
  })

  it('401: refuses an unknown key', async () => {
    const refusal = async (id: string, query: string, headers: object = {}) =>
      statusAndBody(await get(`/merchants/${id}/lines${query}`, headers))
    expect(await refusal(merchantId, '?limit=1', basic('x'))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant before the page is judged', async () => {
    const refusal = async (id: string, query: string, headers: object = {}) =>
      statusAndBody(await get(`/merchants/${id}/lines${query}`, headers))
    expect(await refusal(UNKNOWN_ID, '')).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the page is judged', async () => {
    const refusal = async (id: string, query: string, headers: object = {}) =>
      statusAndBody(await get(`/merchants/${id}/lines${query}`, headers))
    expect(await refusal(merchantId, '', stranger.headers)).toEqual(refusals.forbidden)
  })

  it('400: refuses a page without a limit', async () => {
    const response = await get(`/merchants/${merchantId}/lines`)
    expect([response.statusCode, response.json()]).toEqual([
      400,
      [{ field: 'limit', message: 'is required', code: 'REQUIRED' }],
    ])
  })
})
