import { randomUUID } from 'node:crypto'
import { anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
import { customerPayment } from '../../../../test/customer-payment.ts'
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
let shopId: string
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators, authorizationExpiryDays: 7 })
  member = await createTestApp(payments)
  shopId = (await createTestMerchant(payments, member, { test: true })).id
})
afterAll(() => payments.close())

const advance = (seconds: unknown, { id = shopId, key = String(randomUUID()) } = {}) =>
  payments.app.inject({
    method: 'POST',
    url: `/operator/merchants/${id}/clock`,
    headers: { ...operatorHeaders('admin'), 'idempotency-key': key },
    payload: { advance: seconds },
  })
const nowOf = (answer: Awaited<ReturnType<typeof advance>>) => Date.parse(answer.json().clock.now)

describe('POST /operator/merchants/:merchantId/clock', () => {
  it('201: moves the clock once for each key, and a repeat gets the first answer', async () => {
    const before = nowOf(await advance(0))
    const first = await advance(700_000, { key: 'week' })
    expect(statusAndBody(first)).toEqual([201, { clock: { now: anyTime } }])
    const again = await advance(700_000, { key: 'week' })
    expect([again.statusCode, again.body, again.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
    const moved = nowOf(await advance(0)) - before
    expect([moved >= 700_000_000, moved < 1_400_000_000]).toEqual([true, true])
  })

  it('201: voids what has expired by the time it moves to', async () => {
    const id = await customerPayment(payments, shopId, { amount: 500 })
    expect(statusAndBody(await advance(700_000))).toEqual([201, { clock: { now: anyTime } }])
    const { transaction } = (await payments.app.inject({ url: `/transactions/${id}`, headers: member.headers })).json()
    expect([transaction.pendingAmount, transaction.voidedAmount]).toEqual([0, 500])
  })

  it.each<[unknown, string, string]>([
    [-1, 'must be at least 0', 'RANGE'],
    [3_153_600_001, 'must not lead more than 100 years ahead', 'RANGE'],
    ['soon', 'must be an integer', 'TYPE'],
    [undefined, 'is required', 'REQUIRED'],
  ])('400: refuses to advance by %j', async (seconds, message, code) => {
    expect(statusAndBody(await advance(seconds))).toEqual(refusedField('advance', message, code))
  })

  it('403: refuses a live merchant, whose clock is that of the world', async () => {
    const { id } = await createTestMerchant(payments, member)
    expect(statusAndBody(await advance(1, { id }))).toEqual(refusals.forbidden)
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no merchant has', async (id) => {
    expect(statusAndBody(await advance(1, { id }))).toEqual(refusals.notFound)
  })
})
