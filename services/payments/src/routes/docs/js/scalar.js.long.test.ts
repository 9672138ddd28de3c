import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPayments, type TestPayments } from '../../../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

describe('GET /docs/js/scalar.js', () => {
  it('200: serves the script of the page', async () => {
    const response = await payments.app.inject('/docs/js/scalar.js')
    const type = 'application/javascript; charset=utf-8'
    expect([response.statusCode, response.headers['content-type']]).toEqual([200, type])
    expect(response.rawPayload.length).toBeGreaterThan(1_000_000)
  })
})
