import { randomUUID } from 'node:crypto'
import { anyId, anyTime } from '@trestle/testing/any-text.ts'
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

describe('POST /operator/transactions/:transactionId/disputes', () => {
  it('201: opens a dispute of a live merchant, once under the reference of the acquirer', async () => {
    const transactionId = await customerPayment(payments, merchantId, { amount: 300 })
    await capture(payments, member, transactionId, 300)
    const asked = { amount: 100, reason: { code: 104 }, reference: 'case-1' }
    const [first, second] = [
      await post(`/transactions/${transactionId}/disputes`, asked),
      await post(`/transactions/${transactionId}/disputes`, asked),
    ]
    const { id, created, due, ...rest } = first.json().dispute
    const reason = { code: 104, title: 'Fraud, card absent' }
    expect([first.statusCode, rest]).toEqual([
      201,
      { merchantId, transactionId, amount: 100, currency: 'EUR', reason, status: 'open' },
    ])
    expect([second.statusCode, second.json()]).toEqual([201, { dispute: { id, created, due, ...rest } }])
    const { db } = payments.database
    const stored = db.selectFrom('disputes').select('acquirer_ref').where('transaction_id', '=', transactionId)
    expect(await stored.execute()).toEqual([{ acquirer_ref: 'north:case-1' }])
  })

  it('201: disputes all that can be disputed where no amount is given', async () => {
    const transactionId = await customerPayment(payments, merchantId, { amount: 300 })
    await capture(payments, member, transactionId, 250)
    const { dispute } = (await post(`/transactions/${transactionId}/disputes`, {})).json()
    expect([dispute.amount, dispute.reason]).toEqual([250, { code: 4853, title: 'Cardholder dispute' }])
  })

  it('400: refuses a dispute of nothing, a currency without a rate, and a reason that nobody knows', async () => {
    const id = await customerPayment(payments, merchantId, { amount: 300 })
    const answers = await Promise.all(
      [{}, { amount: 1, currency: 'XXX' }, { amount: 1, currency: 'eur' }, { reason: { code: 1 } }].map((payload) =>
        post(`/transactions/${id}/disputes`, payload),
      ),
    )
    expect(answers.map(statusAndBody)).toEqual([
      refusedField('amount', 'Can dispute at most EUR 0.00', 'LIMIT_EXCEEDED'),
      refusedField('currency', 'has no exchange rate', 'UNKNOWN'),
      refusedField('currency', 'is not valid', 'FORMAT'),
      refusedField('reason.code', 'must be a known reason', 'UNKNOWN'),
    ])
  })

  it('201: opens a dispute of more than is captured, with its excess', async () => {
    const id = await customerPayment(payments, merchantId, { amount: 300 })
    await capture(payments, member, id, 300)
    const answer = await post(`/transactions/${id}/disputes`, { amount: 500 })
    expect(statusAndBody(answer)).toEqual([
      201,
      {
        dispute: {
          ...{ id: anyId, merchantId, transactionId: id, created: anyTime, amount: 500, currency: 'EUR', excess: 200 },
          ...{ reason: { code: 4853, title: 'Cardholder dispute' }, due: anyTime, status: 'open' },
        },
      },
    ])
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no transaction has', async (id) => {
    expect(statusAndBody(await post(`/transactions/${id}/disputes`, {}))).toEqual(refusals.notFound)
  })
})
