import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../test/bodies.ts'
import {
  basic,
  createdOf,
  createTestApp,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { paidOutMerchant, type ShownPayout, TEST_IBAN } from '../../test/payout-requests.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
let merchantId: string
let payouts: readonly ShownPayout[]
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  ;({ merchantId, payouts } = await paidOutMerchant(payments, member, 1))
})
afterAll(() => payments.close())

const get = (url: string, headers: object = {}) =>
  payments.app.inject({ url, headers: { ...member.headers, ...headers } })

describe('GET /payouts/:payoutId', () => {
  it('200: answers the payout, as it was answered when it was made', async () => {
    const [payout] = payouts
    const id = payout?.id ?? ''
    const shown = {
      id,
      merchantId,
      created: createdOf(id),
      amount: 961,
      currency: 'EUR',
      status: 'settled',
      lineId: anyId,
      bank: { iban: TEST_IBAN },
      test: true,
    }
    expect(payout).toEqual(shown)
    const response = await get(`/payouts/${id}`)
    expect([response.statusCode, response.json()]).toEqual([200, { payout }])
  })

  it('401: refuses an unknown key before it looks for the payout', async () => {
    const answer = async (id: string, headers: object = {}) => statusAndBody(await get(`/payouts/${id}`, headers))
    expect(await answer(UNKNOWN_ID, basic('x'))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown payout before access is judged', async () => {
    const answer = async (id: string, headers: object = {}) => statusAndBody(await get(`/payouts/${id}`, headers))
    expect(await answer(UNKNOWN_ID, stranger.headers)).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member of its merchant', async () => {
    const answer = async (id: string, headers: object = {}) => statusAndBody(await get(`/payouts/${id}`, headers))
    const id = payouts[0]?.id ?? ''
    expect(await answer(id, stranger.headers)).toEqual(refusals.forbidden)
  })
})
