import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../test/bodies.ts'
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
let stranger: TestApp
let merchantId: string
let transactionId: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
  transactionId = await customerPayment(payments, merchantId, { number: '4100000000000000' })
})
afterAll(() => payments.close())

const get = (id: string, headers: object = {}) =>
  payments.app.inject({ url: `/cards/${id}`, headers: { ...member.headers, ...headers } })
const createCard = async (changes: object = {}) => {
  const url = `/merchants/${merchantId}/cards`
  const payload = { transactionId, ...changes }
  const response = await payments.app.inject({ method: 'POST', url, headers: member.headers, payload })
  return response.json().card.id
}

describe('GET /cards/:cardId', () => {
  it('200: shows a saved card without its number', async () => {
    const id = await createCard({ notes: 'Anna' })
    const card = {
      id,
      merchantId,
      created: createdOf(id),
      bin: '410000',
      last4: '0000',
      expiry: '2066-08-31T23:59:59.999Z',
      scheme: 'visa',
      notes: 'Anna',
      deleted: null,
    }
    for (const written of [id, id.toUpperCase()]) {
      const response = await get(written)
      expect([response.statusCode, response.json()]).toEqual([200, { card }])
    }
  })

  it('401: refuses an unknown key before it looks for the card', async () => {
    expect(statusAndBody(await get(UNKNOWN_ID, basic('x')))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown card before access is judged', async () => {
    for (const id of [UNKNOWN_ID, 'nonsense']) {
      expect(statusAndBody(await get(id, stranger.headers))).toEqual(refusals.notFound)
    }
  })

  it('403: refuses an app that is no member of its merchant', async () => {
    expect(statusAndBody(await get(await createCard(), stranger.headers))).toEqual(refusals.forbidden)
  })
})
