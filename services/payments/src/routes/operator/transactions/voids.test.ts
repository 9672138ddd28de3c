import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { shownTransaction, statusAndBody, trailEntry } from '../../../../test/bodies.ts'
import { customerPayment } from '../../../../test/customer-payment.ts'
import { operatorHeaders, testOperators } from '../../../../test/operators.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let merchantId: string
beforeAll(async () => {
  // A repeated request waits for the first request.
  payments = await startPayments({ operators: testOperators, lockTimeoutMs: 30_000 })
  member = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true, currency: 'EUR' })).id
})
afterAll(() => payments.close())

const voidPart = (id: string, payload: object, key: string = randomUUID()) =>
  payments.app.inject({
    method: 'POST',
    url: `/operator/transactions/${id}/voids`,
    payload,
    headers: { ...operatorHeaders('admin'), 'idempotency-key': key },
  })
const readTransaction = async (id: string) =>
  (await payments.app.inject({ url: `/transactions/${id}`, headers: member.headers })).json().transaction
const Payload = z.object({ changes: z.unknown() })
const readAudit = async (id: string) => {
  const rows = payments.owner.db.selectFrom('audit').select(['merchant_id', 'action', 'payload'])
  return (await rows.where('action', 'like', 'operator.%').execute())
    .filter(({ payload }) => JSON.stringify(payload).includes(id))
    .map(({ merchant_id, action, payload }) => [merchant_id, action, Payload.parse(payload).changes])
}

describe('POST /operator/transactions/:transactionId/voids', () => {
  it('201: voids for an admin, answers the whole transaction, and records what was voided', async () => {
    const id = await customerPayment(payments, merchantId)
    const response = await voidPart(id, { amount: 260, reference: 'v' })
    const transaction = shownTransaction({
      id,
      merchantId,
      created: createdOf(id),
      pendingAmount: 40,
      voidedAmount: 260,
      trail: [trailEntry({ amount: 260, void: true, reference: 'v' })],
    })
    expect(statusAndBody(response)).toEqual([201, { transaction }])
    expect(await readTransaction(id)).toEqual(transaction)
    expect(await readAudit(id)).toEqual([
      [merchantId, 'operator.transactions.void', { amount: 260, currency: 'EUR', reference: 'v' }],
    ])
  })

  it('400: refuses more than is pending, and the key may be used again', async () => {
    const id = await customerPayment(payments, merchantId)
    const key = randomUUID()
    expect(statusAndBody(await voidPart(id, { amount: 301 }, key))).toEqual([
      400,
      [{ field: 'amount', message: 'Can void at most EUR 3.00', code: 'LIMIT_EXCEEDED' }],
    ])
    expect((await voidPart(id, { amount: 300 }, key)).statusCode).toBe(201)
    expect((await readTransaction(id)).voidedAmount).toBe(300)
  })
})
