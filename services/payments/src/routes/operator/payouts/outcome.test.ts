import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
import { callPayouts, findShownPayout, paidOutLiveMerchant } from '../../../../test/operator-payouts.ts'
import { testOperators } from '../../../../test/operators.ts'
import {
  createTestApp,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  member = await createTestApp(payments)
})
afterAll(() => payments.close())

const close = (id: string, payload: object) => callPayouts(payments, 'POST', `/${id}/outcome`, { payload })

describe('POST /operator/payouts/:payoutId/outcome', () => {
  it('201: gives the money of a failed payout back, once, also when it is told again', async () => {
    const { merchantId, payoutId } = await paidOutLiveMerchant(payments, member, 'EUR')
    const [first, second] = [await close(payoutId, { outcome: 'failed' }), await close(payoutId, { outcome: 'failed' })]
    const payout = await findShownPayout(payments, member, payoutId)
    const { merchant } = (
      await payments.app.inject({ url: `/merchants/${merchantId}`, headers: member.headers })
    ).json()
    expect([first.statusCode, first.json(), second.json(), payout.status, merchant.balance]).toEqual([
      201,
      { payout },
      { payout },
      'failed',
      payout.amount,
    ])
  })

  it('400: refuses an unknown outcome', async () => {
    const answer = await close(UNKNOWN_ID, {})
    expect(statusAndBody(answer)).toEqual(refusedField('outcome', 'is required', 'REQUIRED'))
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no payout has', async (id) => {
    expect(statusAndBody(await close(id, { outcome: 'failed' }))).toEqual(refusals.notFound)
  })

  it('409: refuses the other outcome', async () => {
    const { payoutId } = await paidOutLiveMerchant(payments, member, 'EUR')
    await close(payoutId, { outcome: 'failed' })
    const answer = await close(payoutId, { outcome: 'settled' })
    const body = { code: 'CONFLICT', message: 'The payout has the other outcome' }
    expect([...statusAndBody(answer), answer.headers['retry-after']]).toEqual([409, body, undefined])
  })
})
