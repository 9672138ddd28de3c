import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertAttempt } from '../../../test/attempts.ts'
import { statusAndBody } from '../../../test/bodies.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../../test/payments-app.ts'

let payments: TestPayments
let merchantId: string
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  merchantId = (await createTestMerchant(payments, await createTestApp(payments))).id
})
afterAll(() => payments.close())

const attempt = (state: 'unknown' | 'approved' | 'declined') =>
  insertAttempt(payments, { merchantId, state, acquirer: 'north' })
const get = (query = '') =>
  payments.app.inject({ url: `/operator/attempts?${query}`, headers: operatorHeaders('viewer') })
const shown = (id: string, state: string) => ({
  id,
  merchantId,
  created: expect.any(String),
  amount: 500,
  currency: 'EUR',
  acquirer: 'north',
  state,
})

describe('GET /operator/attempts', () => {
  it('200: lists only attempts without a known outcome, newest first, page by page', async () => {
    const [first, , second] = [await attempt('unknown'), await attempt('declined'), await attempt('unknown')]
    const page = await get('limit=1')
    const rest = await get(/\?(.+)>; rel="next"$/.exec(String(page.headers.link))?.[1])
    expect(statusAndBody(await get())).toEqual([200, { attempts: [shown(second, 'unknown'), shown(first, 'unknown')] }])
    expect([page.json().attempts, rest.json().attempts, rest.headers.link]).toEqual([
      [shown(second, 'unknown')],
      [shown(first, 'unknown')],
      undefined,
    ])
  })

  it('400: refuses an unknown order', async () => {
    const fields = [{ field: 'order', message: 'is not valid', code: 'FORMAT' }]
    expect(statusAndBody(await get('order=random'))).toEqual([400, fields])
  })
})
