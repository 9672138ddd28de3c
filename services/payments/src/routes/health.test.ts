import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPayments, type TestPayments } from '../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

describe('GET /health', () => {
  it('200: answers without a key that the process lives', async () => {
    const response = await payments.app.inject('/health')
    expect([response.statusCode, response.body]).toEqual([200, '{"status":"ok"}\n'])
  })
})
