import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, statusAndBody } from '../../../test/bodies.ts'
import {
  basic,
  createTestApp,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'
import { paidOutMerchant, type ShownPayout } from '../../../test/payout-requests.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
let merchantId: string
let payouts: readonly ShownPayout[]
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  ;({ merchantId, payouts } = await paidOutMerchant(payments, member, 3))
})
afterAll(() => payments.close())

const get = (url: string, headers: object = {}) =>
  payments.app.inject({ url, headers: { ...member.headers, ...headers } })
const list = async (query: string) => expectBody(200, await get(`/merchants/${merchantId}/payouts?${query}`))

describe('GET /merchants/:merchantId/payouts', () => {
  it('200: pages newest first, oldest first after a cursor', async () => {
    const [a, b, c] = payouts
    expect(await list('limit=2')).toEqual([c, b])
    expect(await list(`limit=2&before=${b?.id}`)).toEqual([a])
    expect(await list(`limit=2&after=${a?.id}`)).toEqual([b, c])
    expect(await list('limit=2&filter[test]=n')).toEqual([])
  })

  it('400: refuses a list without a limit', async () => {
    const response = await get(`/merchants/${merchantId}/payouts`)
    const refused = [{ field: 'limit', message: 'is required', code: 'REQUIRED' }]
    expect([response.statusCode, response.json()]).toEqual([400, refused])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    const answer = async (id: string, headers: object = {}) =>
      statusAndBody(await get(`/merchants/${id}/payouts`, headers))
    expect(await answer(UNKNOWN_ID, basic('x'))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant before the page is judged', async () => {
    const answer = async (id: string, headers: object = {}) =>
      statusAndBody(await get(`/merchants/${id}/payouts`, headers))
    expect(await answer(UNKNOWN_ID, stranger.headers)).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the page is judged', async () => {
    const answer = async (id: string, headers: object = {}) =>
      statusAndBody(await get(`/merchants/${id}/payouts`, headers))
    expect(await answer(merchantId, stranger.headers)).toEqual(refusals.forbidden)
  })
})
