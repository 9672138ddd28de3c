import { randomUUID } from 'node:crypto'
import { anyId } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
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

const capture = (id: string, payload: object, key: string = randomUUID()) =>
  payments.app.inject({
    method: 'POST',
    url: `/operator/transactions/${id}/captures`,
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

describe('POST /operator/transactions/:transactionId/captures', () => {
  it('201: captures for an admin, answers the whole transaction, and records what was captured', async () => {
    const id = await customerPayment(payments, merchantId)
    const payload = { amount: 200, currency: 'EUR', descriptor: 'Beans', reference: 'r' }
    const response = await capture(id, payload)
    const transaction = shownTransaction({
      id,
      merchantId,
      created: createdOf(id),
      pendingAmount: 100,
      capturedAmount: 200,
      trail: [
        trailEntry({
          amount: 200,
          balance: 172,
          fee: { flat: 25, rate: 3 },
          capture: true,
          descriptor: 'Beans',
          reference: 'r',
          lineId: anyId,
        }),
      ],
    })
    expect(statusAndBody(response)).toEqual([201, { transaction }])
    expect(await readTransaction(id)).toEqual(transaction)
    expect(await readAudit(id)).toEqual([[merchantId, 'operator.transactions.capture', payload]])
  })

  it('201, 400: of 8 parallel full captures, half by the merchant, one succeeds', async () => {
    const id = await customerPayment(payments, merchantId)
    const ofMember = { method: 'POST', url: `/transactions/${id}/captures`, headers: member.headers } as const
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        index % 2 === 0 ? capture(id, { amount: 300 }) : payments.app.inject({ ...ofMember, payload: { amount: 300 } }),
      ),
    )
    const refused = [400, [{ field: 'amount', message: 'Can capture at most EUR 0.00', code: 'LIMIT_EXCEEDED' }]]
    expect(answers.filter(({ statusCode }) => statusCode === 201)).toHaveLength(1)
    expect(answers.filter(({ statusCode }) => statusCode !== 201).map(statusAndBody)).toEqual(
      Array.from({ length: 7 }, () => refused),
    )
    expect((await readTransaction(id)).trail).toHaveLength(1)
  })

  it('201: 6 requests with one Idempotency-Key at once capture once and have one answer', async () => {
    const id = await customerPayment(payments, merchantId)
    const key = randomUUID()
    const answers = await Promise.all(Array.from({ length: 6 }, () => capture(id, { amount: 10 }, key)))
    expect(new Set(answers.map(({ statusCode, body }) => `${statusCode} ${body}`))).toEqual(
      new Set([`201 ${answers[0]?.body}`]),
    )
    expect([(await readTransaction(id)).capturedAmount, await readAudit(id)]).toEqual([
      10,
      [[merchantId, 'operator.transactions.capture', { amount: 10, currency: 'EUR' }]],
    ])
  })

  it('400: refuses another currency than that of the transaction, and a refused capture leaves no row', async () => {
    const id = await customerPayment(payments, merchantId)
    expect(statusAndBody(await capture(id, { amount: 10, currency: 'DKK' }))).toEqual([
      400,
      [{ field: 'currency', message: 'must be EUR', code: 'MISMATCH' }],
    ])
    expect([(await readTransaction(id)).trail, await readAudit(id)]).toEqual([[], []])
  })

  it('503: refuses a live merchant a capture in a currency without a recent rate', async () => {
    const { id: live } = await createTestMerchant(payments, member, { currency: 'DKK' })
    await sql`SELECT ${sql.table('import_rates')}('[{"date":"2020-01-01","currency":"ISK","rate":150}]'::jsonb)`.execute(
      payments.database.db,
    )
    await sql`DELETE FROM ${sql.table('fx_rates')} WHERE currency = 'ISK' AND date > '2020-01-01'`.execute(
      payments.owner.db,
    )
    const id = await customerPayment(payments, live, { number: '4242424242424242', currency: 'ISK', amount: 300 })
    expect(statusAndBody(await capture(id, { amount: 10 }))).toEqual([
      503,
      { code: 'RATE_UNAVAILABLE', message: 'There is no recent exchange rate' },
    ])
  })
})
