import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
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
let stranger: TestApp
let merchantId: string
let transactionId: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
  transactionId = await customerPayment(payments, merchantId, { currency: 'DKK', amount: 90_000 })
  await capture(payments, member, transactionId, 80_000)
})
afterAll(() => payments.close())

const get = (url: string, headers: object = {}) =>
  payments.app.inject({ url, headers: { ...member.headers, ...headers } })
const onlyLine = async () => {
  const [line] = (await get(`/merchants/${merchantId}/lines?limit=10`)).json()
  return line?.id ?? ''
}

describe('GET /lines/:lineId', () => {
  it('200: answers the line as in the list, without a wrapper', async () => {
    const id = await onlyLine()
    const response = await get(`/lines/${id}`)
    const line = {
      id,
      merchantId,
      test: true,
      created: createdOf(id),
      balance: 78_734,
      balanceAfter: 78_734,
      fee: 1_266,
      description: `Capture ${transactionId}`,
      transactionId,
      amount: { currency: 'DKK', amount: 80_000 },
      capture: true,
    }
    expect([response.statusCode, response.json()]).toEqual([200, line])
    expect((await get(`/merchants/${merchantId}/lines?limit=10`)).json()).toEqual([line])
  })

  it('401: refuses an unknown key before it looks for the line', async () => {
    const answer = async (id: string, headers: object = {}) => statusAndBody(await get(`/lines/${id}`, headers))
    expect(await answer(UNKNOWN_ID, basic('x'))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown line before access is judged', async () => {
    const answer = async (id: string, headers: object = {}) => statusAndBody(await get(`/lines/${id}`, headers))
    expect(await answer(UNKNOWN_ID, stranger.headers)).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member of its merchant', async () => {
    const answer = async (id: string, headers: object = {}) => statusAndBody(await get(`/lines/${id}`, headers))
    expect(await answer(await onlyLine(), stranger.headers)).toEqual(refusals.forbidden)
  })
})
