import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, browse, makeOrder, walk } from '../../test/customer.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'

let payments: TestPayments
let browser: Browser
let app: TestApp
let merchant: { id: string; key?: unknown }
beforeAll(async () => {
  payments = await startPayments()
  browser = browse(payments)
  app = await createTestApp(payments)
  merchant = await createTestMerchant(payments, app, { currency: 'EUR', test: true })
})
afterAll(() => payments.close())

const order = (changes: object = {}) => makeOrder(browser, { key: merchant.key, ...changes })
const get = async (id: string) =>
  (await payments.app.inject({ method: 'GET', url: `/transactions/${id}`, headers: app.headers })).json().transaction

describe('POST /payments', () => {
  it('201: reserves the amount after every challenge', async () => {
    const given = await order({
      text: 'Café Ærø & Søn, order 1234567890',
      custom: { cart: [1, 2], reference: 'R-1' },
      unplanned: { merchant: true },
    })
    const { status, headers, body } = await walk(browser, given)
    const { authorizationId: id } = body
    expect([status, body]).toEqual([201, { authorizationId: id, transactionId: id }])
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(await get(id)).toEqual({
      ...{ id, merchantId: merchant.id, test: true, created: createdOf(id), currency: 'EUR', amount: 1_000 },
      ...{ descriptor: 'Cafe ?r? & S?n, order ', reference: 'R-1' },
      ...{ pendingAmount: 1_000, capturedAmount: 0, refundedAmount: 0, voidedAmount: 0, disputedAmount: 0 },
      card: {
        ...{ bin: '100000', last4: '0000', expiry: '2066-08-31T23:59:59.999Z', scheme: 'visa' },
        code: { present: true },
      },
      ...{ tds: 'full', recurring: false, successful: true, error: false, trail: [] },
      ...{ custom: { cart: [1, 2], reference: 'R-1' }, unplanned: { merchant: true } },
    })
  })

  it('200: offers one step after the other, and the last in every way', async () => {
    const { challenges } = (await browser.send('/payments', await order())).body
    expect(challenges).toEqual([{ name: 'card-lookup', type: 'fetch', path: '/payments/challenges/card-lookup' }])
    const { types } = await walk(browser, await order())
    expect(types).toEqual(['fetch', 'background-iframe', 'background-iframe', 'iframe'])
  })
})
