import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
import { customerPayment } from '../../../../test/customer-payment.ts'
import { capture } from '../../../../test/operations.ts'
import { operatorHeaders, testOperators } from '../../../../test/operators.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  member = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { currency: 'EUR' })).id
})
afterAll(() => payments.close())

const post = (url: string, payload: object, key = String(randomUUID())) =>
  payments.app.inject({
    method: 'POST',
    url: `/operator${url}`,
    headers: { ...operatorHeaders('admin'), 'idempotency-key': key },
    payload,
  })

/** Opens a dispute about EUR 1.00 of a live merchant, as an operator. */
async function openDispute() {
  const id = await customerPayment(payments, merchantId, { amount: 300 })
  await capture(payments, member, id, 300)
  return (await post(`/transactions/${id}/disputes`, { amount: 100 })).json().dispute
}
const close = (id: string, payload: object) => post(`/disputes/${id}/outcome`, payload)
const balance = async () => {
  const url = `/merchants/${merchantId}`
  return (await payments.app.inject({ url, headers: member.headers })).json().merchant.balance
}

describe('POST /operator/disputes/:disputeId/outcome', () => {
  it('201: takes the money of a lost dispute of a live merchant with the fee, once for each outcome', async () => {
    const dispute = await openDispute()
    const before = await balance()
    const lost = await close(dispute.id, { outcome: 'lost' })
    const again = await close(dispute.id, { outcome: 'lost' })
    const { resolved, ...rest } = lost.json().dispute
    expect([lost.statusCode, rest, again.statusCode, again.json()]).toEqual([
      201,
      { ...dispute, status: 'lost' },
      201,
      { dispute: { ...dispute, status: 'lost', resolved } },
    ])
    expect((await balance()) - before).toBe(-2_600)
  })

  it('201: a won dispute moves nothing', async () => {
    const dispute = await openDispute()
    const before = await balance()
    const won = await close(dispute.id, { outcome: 'won' })
    const { resolved } = won.json().dispute
    expect([won.statusCode, won.json()]).toEqual([201, { dispute: { ...dispute, status: 'won', resolved } }])
    expect((await balance()) - before).toBe(0)
  })

  it('400: refuses an unknown outcome', async () => {
    const { id } = await openDispute()
    expect(statusAndBody(await close(id, {}))).toEqual(refusedField('outcome', 'is required', 'REQUIRED'))
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no dispute has', async (id) => {
    expect(statusAndBody(await close(id, { outcome: 'won' }))).toEqual(refusals.notFound)
  })

  it('409: refuses the other outcome of a dispute that is closed', async () => {
    const { id } = await openDispute()
    await close(id, { outcome: 'won' })
    const answer = await close(id, { outcome: 'lost' })
    const conflict = { code: 'CONFLICT', message: 'The dispute is already won' }
    expect([...statusAndBody(answer), answer.headers['retry-after']]).toEqual([409, conflict, undefined])
  })
})
