import { randomUUID } from 'node:crypto'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shownTransaction, statusAndBody, trailEntry } from '../../../../test/bodies.ts'
import { customerPayment } from '../../../../test/customer-payment.ts'
import { createLiveMerchant, settle } from '../../../../test/live-merchant.ts'
import { capture } from '../../../../test/operations.ts'
import { actorOf, operatorHeaders, storedKey, testOperators } from '../../../../test/operators.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  secondProcess,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'
import { createStubAcquirer } from '../../../../test/stub-acquirer.ts'

let payments: TestPayments
/** The same service in another process. */
let other: TestPayments
let member: TestApp
let merchantId: string
const north = createStubAcquirer()
beforeAll(async () => {
  payments = await startPayments({
    operators: testOperators,
    acquirers: new Map([['north', north]]),
    refundLimits: { once: new Map([['EUR', 100]]), daily: new Map([['EUR', 250]]) },
    // A repeated request waits for the first request.
    lockTimeoutMs: 30_000,
  })
  other = await secondProcess(payments)
  member = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true, currency: 'EUR' })).id
})
afterAll(async () => {
  await other.close()
  await payments.close()
})

/** Creates a payment and captures it in full. Returns the id of the transaction. */
async function capturedPayment(amount: number, { currency = 'EUR', of = merchantId } = {}): Promise<string> {
  const id = await customerPayment(payments, of, { amount, currency })
  await capture(payments, member, id, amount)
  return id
}

interface Sent {
  readonly role?: OperatorRole
  readonly key?: string
  readonly at?: TestPayments
}

const refund = (id: string, payload: object, { role = 'admin', key = randomUUID(), at = payments }: Sent = {}) =>
  at.app.inject({
    method: 'POST',
    url: `/operator/transactions/${id}/refunds`,
    payload,
    headers: { ...operatorHeaders(role), 'idempotency-key': key },
  })
const readTransaction = async (id: string) =>
  (await payments.app.inject({ url: `/transactions/${id}`, headers: member.headers })).json().transaction
const refunded = async (id: string): Promise<number> => (await readTransaction(id)).refundedAmount
/** Deletes the refund quotas that support has used, as if a new day had begun. */
const endDay = () => sql`DELETE FROM ${sql.table('operator_allowances')}`.execute(payments.owner.db)
const takenToday = async () => {
  const rows = await payments.owner.db.selectFrom('operator_allowances').select(['actor_id', 'taken']).execute()
  return rows.map(({ actor_id, taken }) => [actor_id, Number(taken)])
}
const limitExceeded = (left: number) => [
  403,
  {
    code: 'REFUND_LIMIT_EXCEEDED',
    message: 'The refund is more than the operator may refund',
    limit: 100,
    left,
  },
]

describe('POST /operator/transactions/:transactionId/refunds', () => {
  it('201: refunds for an admin, answers the whole transaction, and records who did it', async () => {
    const id = await capturedPayment(300)
    const response = await refund(id, { amount: 120, descriptor: 'Beans back', reference: 'r' }, { key: 'first' })
    const transaction = shownTransaction({
      id,
      merchantId,
      created: createdOf(id),
      capturedAmount: 300,
      refundedAmount: 120,
      trail: [
        trailEntry({
          amount: 300,
          balance: 271,
          fee: { flat: 25, rate: 4 },
          capture: true,
          lineId: expect.stringMatching(/^[0-9a-f]{24}$/),
        }),
        trailEntry({
          amount: 120,
          balance: -120,
          refund: true,
          descriptor: 'Beans back',
          reference: 'r',
          lineId: expect.stringMatching(/^[0-9a-f]{24}$/),
        }),
      ],
    })
    expect(statusAndBody(response)).toEqual([201, { transaction }])
    expect(await readTransaction(id)).toEqual(transaction)
    const audit = payments.owner.db.selectFrom('audit').select(['merchant_id', 'identity_id', 'action', 'payload'])
    const { id: actorId, email } = actorOf('admin')
    expect(await audit.where('action', '=', 'operator.transactions.refund').execute()).toEqual([
      {
        merchant_id: merchantId,
        identity_id: null,
        action: 'operator.transactions.refund',
        payload: {
          action: 'transactions.refund',
          actor: { id: actorId, email },
          key: 'desk-admin',
          role: 'admin',
          address: '127.0.0.1',
          object: { kind: 'transaction', id },
          idempotencyKey: storedKey('first'),
          changes: { amount: 120, currency: 'EUR', descriptor: 'Beans back', reference: 'r' },
        },
      },
    ])
  })

  it('201: a merchant hears of a refund of an operator by the event that its own refund makes', async () => {
    const id = await capturedPayment(300)
    await refund(id, { amount: 120 })
    const url = `/merchants/${merchantId}/events?limit=1`
    const [event] = (await payments.app.inject({ url, headers: member.headers })).json()
    expect([event.type, event.data.transaction]).toEqual(['transaction.refunded', await readTransaction(id)])
  })

  it('201: a repeat gets the first answer and refunds once, also when both come at once to two processes', async () => {
    await endDay()
    const id = await capturedPayment(300)
    const sent = { role: 'support', key: randomUUID() } as const
    const answers = await Promise.all(
      [payments, other, payments, other].map((at) => refund(id, { amount: 60 }, { ...sent, at })),
    )
    const later = await refund(id, { amount: 60 }, sent)
    expect(answers.map(({ statusCode, body }) => [statusCode, body])).toEqual(answers.map(() => [201, later.body]))
    expect([later.headers['idempotent-replayed'], await refunded(id)]).toEqual(['true', 60])
    expect(await takenToday()).toEqual([[actorOf('support').id, 60]])
  })

  it('201, 403: parallel refunds of support together never pass the limit of the day', async () => {
    await endDay()
    const ids = await Promise.all(Array.from({ length: 12 }, () => capturedPayment(300)))
    const answers = await Promise.all(
      ids.map((id, index) => refund(id, { amount: 70 }, { role: 'support', at: index % 2 === 0 ? payments : other })),
    )
    expect(answers.filter(({ statusCode }) => statusCode === 201)).toHaveLength(3)
    const refusals = answers.filter(({ statusCode }) => statusCode !== 201).map(statusAndBody)
    expect(refusals).toEqual(Array.from({ length: 9 }, () => limitExceeded(40)))
    const amounts = await Promise.all(ids.map(refunded))
    expect(amounts.reduce((sum, amount) => sum + amount)).toBe(210)
    expect(await takenToday()).toEqual([[actorOf('support').id, 210]])
  })

  it('403: counts a small refund of support for a hundredth of the day', async () => {
    await endDay()
    const id = await capturedPayment(300)
    expect((await refund(id, { amount: 1 }, { role: 'support' })).statusCode).toBe(201)
    expect(await takenToday()).toEqual([[actorOf('support').id, 3]])
    await payments.owner.db.updateTable('operator_allowances').set({ taken: 248n }).execute()
    expect(statusAndBody(await refund(id, { amount: 1 }, { role: 'support' }))).toEqual(limitExceeded(0))
    expect([await refunded(id), await takenToday()]).toEqual([1, [[actorOf('support').id, 248]]])
  })

  it('403: refuses support more than the limit of one refund, and takes nothing', async () => {
    await endDay()
    const id = await capturedPayment(300)
    expect(statusAndBody(await refund(id, { amount: 101 }, { role: 'support' }))).toEqual(limitExceeded(250))
    expect([await refunded(id), await takenToday()]).toEqual([0, []])
  })

  it('403: refuses support the 61st entry of a trail, so that others can still capture, void and refund', async () => {
    await endDay()
    const id = await customerPayment(payments, merchantId, { amount: 1_000 })
    await capture(payments, member, id, 400)
    const asMember = async (below: string) =>
      (
        await payments.app.inject({
          method: 'POST',
          url: `/transactions/${id}/${below}`,
          headers: member.headers,
          payload: { amount: 1 },
        })
      ).statusCode
    for (let entries = 1; entries < 59; entries++) await asMember('refunds')
    const limits = async (role: OperatorRole) =>
      (await payments.app.inject({ url: `/operator/transactions/${id}`, headers: operatorHeaders(role) })).json().limits
    expect((await refund(id, { amount: 1 }, { role: 'support' })).statusCode).toBe(201)
    const sent = { role: 'support', key: randomUUID() } as const
    expect(statusAndBody(await refund(id, { amount: 2 }, sent))).toEqual([
      403,
      { code: 'TRAIL_RESERVED', message: 'Support refunds no transaction whose trail has 60 entries. An admin may' },
    ])
    expect([await refunded(id), await takenToday()]).toEqual([59, [[actorOf('support').id, 3]]])
    const left = { capture: 600, void: 600, dispute: 341 }
    expect([await limits('support'), await limits('admin')]).toEqual([
      { ...left, refund: 0, refundLimit: 100, refundAllowance: 247 },
      { ...left, refund: 341 },
    ])
    expect((await refund(id, { amount: 3 })).statusCode).toBe(201)
    expect([await asMember('captures'), await asMember('voids'), await asMember('refunds')]).toEqual([201, 201, 201])
  })

  it('201: the merchant captures again where the acquirer rejects a capture with all refunds of support', async () => {
    await endDay()
    const shop = await createLiveMerchant(payments, member, { north })
    const id = await shop.charge(1_000)
    const captured = await shop.book('capture', id, 400)
    const refunds: string[] = []
    for (let entries = 1; entries < 60; entries++) {
      const answer = await refund(id, { amount: 1 }, { role: 'support' })
      refunds.push(answer.json().transaction.trail.at(-1).id)
    }
    for (const entry of [captured, ...refunds])
      await shop.answer(entry, { verdict: 'rejected', reason: 'no such card' })
    const { trail, pendingAmount, capturedAmount, refundedAmount } = await shop.get(id)
    expect([trail.length, pendingAmount, capturedAmount, refundedAmount]).toEqual([179, 1_000, 0, 0])
    await shop.book('capture', id, 1_000)
  })

  it('403: refuses support in a currency without limits', async () => {
    const id = await capturedPayment(300, { currency: 'DKK' })
    expect(statusAndBody(await refund(id, { amount: 1 }, { role: 'support' }))).toEqual([
      403,
      { code: 'REFUND_NOT_ALLOWED', message: 'Support refunds in no such currency' },
    ])
    expect(await refunded(id)).toBe(0)
  })

  it('400: a refund of too much gives its refund quota back, and its key may be used again', async () => {
    await endDay()
    const [small, large] = [await capturedPayment(50), await capturedPayment(300)]
    const sent = { role: 'support', key: randomUUID() } as const
    expect(statusAndBody(await refund(small, { amount: 90 }, sent))).toEqual([
      400,
      [{ field: 'amount', message: 'Can refund at most EUR 0.50', code: 'LIMIT_EXCEEDED' }],
    ])
    expect(await takenToday()).toEqual([[actorOf('support').id, 0]])
    expect((await refund(large, { amount: 90 }, sent)).statusCode).toBe(201)
    expect(await takenToday()).toEqual([[actorOf('support').id, 90]])
  })

  it.each(['support', 'admin'] as const)(
    '409: refuses %s a key that was used for another amount or transaction',
    async (role) => {
      await endDay()
      const [first, second] = [await capturedPayment(300), await capturedPayment(300)]
      const key = randomUUID()
      await refund(first, { amount: 60 }, { role, key })
      const answers = [
        await refund(first, { amount: 61 }, { role, key }),
        await refund(second, { amount: 60 }, { role, key }),
      ]
      const reused = { code: 'IDEMPOTENCY_KEY_REUSED', message: 'The Idempotency-Key was used for another request' }
      expect(answers.map(statusAndBody)).toEqual([
        [409, reused],
        [409, reused],
      ])
      expect([await refunded(first), await refunded(second)]).toEqual([60, 0])
      expect(await takenToday()).toEqual(role === 'support' ? [[actorOf('support').id, 60]] : [])
    },
  )

  it('403: refuses where the merchant has no permission to refund', async () => {
    const { id: of } = await createTestMerchant(payments, member, { test: true, currency: 'EUR' })
    const id = await capturedPayment(300, { of })
    const claim = { canChargeCard: true, canSaveCard: true, canTransferToCard: false, canCapture: true, canVoid: true }
    await settle(payments.owner.db, of, { claim: JSON.stringify({ ...claim, canRefund: false }) })
    expect(statusAndBody(await refund(id, { amount: 1 }))).toEqual([
      403,
      { code: 'FORBIDDEN', message: 'The API key has no access to this resource' },
    ])
    expect(await refunded(id)).toBe(0)
  })

  it('404: an unknown transaction takes no refund quota', async () => {
    await endDay()
    expect(statusAndBody(await refund(UNKNOWN_ID, { amount: 1 }, { role: 'support' }))).toEqual([
      404,
      { code: 'NOT_FOUND', message: 'There is no such resource' },
    ])
    expect(await takenToday()).toEqual([])
  })
})
