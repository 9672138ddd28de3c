import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, shownMerchant, statusAndBody } from '../../../../test/bodies.ts'
import { actorOf, operatorHeaders, storedKey, testOperators } from '../../../../test/operators.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'

let payments: TestPayments
let merchantId: string
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  merchantId = (await createTestMerchant(payments, await createTestApp(payments))).id
})
afterAll(() => payments.close())

const price = (payload: object, { id = merchantId, key = String(randomUUID()) } = {}) =>
  payments.app.inject({
    method: 'PUT',
    url: `/operator/merchants/${id}/pricing`,
    headers: { ...operatorHeaders('admin'), 'idempotency-key': key },
    payload,
  })
const pricing = { rate: 90, flat: { currency: 'EUR', amount: 10 }, dispute: { currency: 'EUR', amount: 2_500 } }

describe('PUT /operator/merchants/:merchantId/pricing', () => {
  it('200: changes the fees that are given, writes an event, and keeps who did it', async () => {
    const changed = { rate: 90, flat: { currency: 'EUR', amount: 10 }, refund: { currency: 'EUR', amount: 5 } }
    const answer = await price(changed, { key: 'once' })
    expect(statusAndBody(answer)).toEqual([200, { merchant: shownMerchant({ id: merchantId, pricing }) }])
    const { rows: audit } = await sql`
      SELECT merchant_id, action, payload FROM payments.audit WHERE action LIKE 'operator.%'`.execute(
      payments.database.db,
    )
    const { id, email } = actorOf('admin')
    expect(audit).toEqual([
      {
        merchant_id: merchantId,
        action: 'operator.merchants.price',
        payload: {
          action: 'merchants.price',
          actor: { id, email },
          key: 'desk-admin',
          role: 'admin',
          address: '127.0.0.1',
          object: { kind: 'merchant', id: merchantId },
          idempotencyKey: storedKey('once'),
          changes: changed,
        },
      },
    ])
    const { rows: events } = await sql`SELECT type FROM payments.events`.execute(payments.database.db)
    expect(events).toEqual([{ type: 'merchant.updated' }])
  })

  it('200: a repeat with the same key gets the first answer and changes nothing', async () => {
    const first = await price({ rate: 70 }, { key: 'twice' })
    const { body: other } = await price({ rate: 80 })
    const again = await price({ rate: 70 }, { key: 'twice' })
    expect([again.statusCode, again.body, again.headers['idempotent-replayed']]).toEqual([200, first.body, 'true'])
    const now = await payments.app.inject({
      url: `/operator/merchants/${merchantId}`,
      headers: operatorHeaders('viewer'),
    })
    expect(now.json().merchant).toEqual(JSON.parse(other).merchant)
  })

  it.each<[object, string, string, string]>([
    [{}, 'body', 'is required', 'REQUIRED'],
    [{ rate: 10_001 }, 'rate', 'must be at most 10000', 'RANGE'],
    [{ flat: { currency: 'EUR', amount: -1 } }, 'flat.amount', 'must be at least 0', 'RANGE'],
    [
      { dispute: { currency: 'XXX', amount: 1 } },
      'dispute.currency',
      'must be a currency that can be charged',
      'UNKNOWN',
    ],
  ])('400: refuses %j', async (payload, field, message, code) => {
    expect(statusAndBody(await price(payload))).toEqual([400, [{ field, message, code }]])
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no merchant has', async (id) => {
    expect(statusAndBody(await price({ rate: 1 }, { id }))).toEqual(refusals.notFound)
  })

  it('500 RECORD_CHANGED: refuses a merchant that was changed past the service, and keeps its fees', async () => {
    const { db } = payments.database
    await sql`UPDATE payments.merchants SET iban = 'DK5000400440116243' WHERE id = ${merchantId}`.execute(db)
    const answer = await price({ rate: 1 })
    const { rows } = await sql`SELECT pricing ->> 'rate' AS rate FROM payments.merchants`.execute(db)
    await sql`UPDATE payments.merchants SET iban = NULL WHERE id = ${merchantId}`.execute(db)
    const message = 'Data of this merchant must be looked at by the operator'
    expect([...statusAndBody(answer), rows]).toEqual([500, { code: 'RECORD_CHANGED', message }, [{ rate: '80' }]])
  })
})
