import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
import { callPayouts, payableMerchant } from '../../../../test/operator-payouts.ts'
import { testOperators } from '../../../../test/operators.ts'
import { createTestApp, startPayments, type TestPayments, UNKNOWN_ID } from '../../../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators, work: true })
})
afterAll(() => payments.close())

/** Returns the merchants that were paid out, oldest payout first. */
async function paidMerchants(): Promise<readonly string[]> {
  const { payouts } = (await callPayouts(payments, 'GET', '?order=asc')).json()
  return payouts.map(({ merchantId }: { merchantId: string }) => merchantId)
}

const waitForPayouts = (merchants: readonly string[]) =>
  vi.waitFor(async () => expect(await paidMerchants()).toEqual(merchants), { timeout: 60_000, interval: 200 })

describe('POST /operator/payouts/run', () => {
  it('202: a job pays out one merchant alone, or all, once for each key', async () => {
    const member = await createTestApp(payments)
    const krone = await payableMerchant(payments, member, 'DKK')
    const euro = await payableMerchant(payments, member, 'EUR')
    const request = { payload: { merchant: krone.toUpperCase() }, key: 'one' }
    const one = await callPayouts(payments, 'POST', '/run', request)
    const again = await callPayouts(payments, 'POST', '/run', request)
    expect([one.statusCode, one.json(), again.body]).toEqual([202, { job: expect.any(String) }, one.body])
    await waitForPayouts([krone])
    expect((await callPayouts(payments, 'POST', '/run')).statusCode).toBe(202)
    await waitForPayouts([krone, euro])
  })

  it('400: refuses a malformed id of a merchant', async () => {
    const answer = await callPayouts(payments, 'POST', '/run', { payload: { merchant: 'x' } })
    expect(statusAndBody(answer)).toEqual(refusedField('merchant', 'must be 24 hexadecimal digits', 'FORMAT'))
  })

  it('404: refuses an unknown merchant', async () => {
    const answer = await callPayouts(payments, 'POST', '/run', { payload: { merchant: UNKNOWN_ID } })
    expect(statusAndBody(answer)).toEqual(refusals.notFound)
  })
})
