import { expect } from 'vitest'
import { customerPayment } from './customer-payment.ts'
import { capture } from './operations.ts'
import { createTestMerchant, type TestApp, type TestPayments } from './payments-app.ts'

/** The IBAN of merchants that are paid out. */
export const TEST_IBAN = 'DK5000400440116243'

/** A payout as answers show it, of which tests read the id. */
export interface ShownPayout {
  readonly id: string
  readonly [field: string]: unknown
}

/** Makes a test merchant with payouts on consecutive days, oldest first. */
export async function paidOutMerchant(payments: TestPayments, member: TestApp, days: number) {
  const changes = { test: true, currency: 'EUR', bank: { iban: TEST_IBAN } }
  const { id: merchantId } = await createTestMerchant(payments, member, changes)
  const post = (path: string, payload: object) =>
    payments.app.inject({
      method: 'POST',
      url: `/test/merchants/${merchantId}/${path}`,
      headers: member.headers,
      payload,
    })
  const payouts: ShownPayout[] = []
  for (let day = 0; day < days; day++) {
    const transactionId = await customerPayment(payments, merchantId, { amount: 1_000 })
    await capture(payments, member, transactionId, 1_000)
    const response = await post('payouts', {})
    expect(response.statusCode).toBe(201)
    payouts.push(response.json().payout)
    await post('clock', { advance: 86_400 })
  }
  return { merchantId, payouts }
}
