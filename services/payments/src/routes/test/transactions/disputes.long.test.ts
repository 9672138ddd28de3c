import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
import { disputeRequests } from '../../../../test/dispute-requests.ts'
import { countLockWaits } from '../../../../test/lock-waits.ts'
import { copyDispute } from '../../../../test/open-disputes.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
let requests: ReturnType<typeof disputeRequests>
let merchantId: string
beforeAll(async () => {
  // Twenty concurrent requests wait for each other. On a busy machine they wait longer than the default timeout.
  payments = await startPayments({ lockTimeoutMs: 30_000 })
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  requests = disputeRequests(payments, member)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
})
afterAll(() => payments.close())

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
/** Returns the end of the day that is 20 days later. */
function dueOf(created: string): string {
  const day = new Date(Date.parse(created) + 20 * 86_400_000).toISOString().slice(0, 10)
  return `${day}T23:59:59.999Z`
}

function expected(id: string, transactionId: string, changes: object = {}) {
  const created = createdOf(id)
  return {
    id,
    merchantId,
    transactionId,
    created,
    amount: 300,
    currency: 'EUR',
    reason: { code: 4853, title: 'Cardholder dispute' },
    due: dueOf(created),
    status: 'open',
    ...changes,
  }
}

describe('POST /test/transactions/:transactionId/disputes', () => {
  it.each<[string, object | string, object, object]>([
    ['JSON without a body', '', { 'content-type': 'application/json' }, {}],
    [
      'JSON',
      { amount: 100, reason: { code: 104 } },
      {},
      { amount: 100, reason: { code: 104, title: 'Fraud, card absent' } },
    ],
    ['form', 'amount=100&reason[code]=137', FORM, { amount: 100, reason: { code: 137, title: 'Cancelled' } }],
  ])('201: opens one, as %s, and GET and the list show it', async (_kind, payload, headers, changes) => {
    const transactionId = await requests.captured(merchantId)
    const response = await requests.post(`/test/transactions/${transactionId}/disputes`, payload, headers)
    expect(response.statusCode).toBe(201)
    const { dispute } = response.json()
    expect(dispute).toEqual(expected(dispute.id, transactionId, changes))
    expect((await requests.get(`/disputes/${dispute.id}`)).body).toBe(response.body)
    const list = await requests.get(
      `/disputes?limit=10&filter[merchantId]=${merchantId}&filter[transactionId]=${transactionId}`,
    )
    expect(list.body).toBe(`[\n${response.body.slice('{"dispute":'.length, -2)}\n]\n`)
    const amount = BigInt('amount' in changes ? 100 : 300)
    expect(await requests.amounts(transactionId)).toEqual({
      captured: 300n,
      disputed: amount,
      lost: 0n,
      trail_length: 1,
      refunded: 0n,
    })
  })

  it('400: refuses to dispute more than was captured, also when many requests come at once', async () => {
    const transactionId = await requests.captured(merchantId, 200)
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => requests.post(`/test/transactions/${transactionId}/disputes`, { amount: 60 })),
    )
    const over = responses.filter(({ statusCode }) => statusCode !== 201).map(statusAndBody)
    expect(over).toEqual(Array(5).fill(refusedField('amount', 'Can dispute at most EUR 0.20', 'LIMIT_EXCEEDED')))
    expect(await requests.amounts(transactionId)).toEqual({
      disputed: 180n,
      captured: 200n,
      refunded: 0n,
      lost: 0n,
      trail_length: 1,
    })
    const refused = await requests.post(`/test/transactions/${transactionId}/disputes`, { amount: 21 })
    expect(statusAndBody(refused)).toEqual(refusedField('amount', 'Can dispute at most EUR 0.20', 'LIMIT_EXCEEDED'))
    await requests.open(transactionId)
    expect(statusAndBody(await requests.post(`/test/transactions/${transactionId}/disputes`))).toEqual(
      refusedField('amount', 'Can dispute at most EUR 0.00', 'LIMIT_EXCEEDED'),
    )
  })

  it.each<[object, string, string, string]>([
    [{ amount: 0 }, 'amount', 'RANGE', 'must be at least 1'],
    [{ amount: '5' }, 'amount', 'TYPE', 'must be an integer'],
    [{ reason: { code: 1 } }, 'reason.code', 'UNKNOWN', 'must be a known reason'],
    [{ reason: 4853 }, 'reason', 'TYPE', 'must be an object'],
  ])('400: refuses %j', async (payload, field, code, message) => {
    const response = await requests.post(`/test/transactions/${await requests.captured(merchantId)}/disputes`, payload)
    expect(statusAndBody(response)).toEqual(refusedField(field, message, code))
  })

  it('201: answers a repeat with the dispute as it was', async () => {
    const url = `/test/transactions/${await requests.captured(merchantId)}/disputes`
    const first = await requests.post(url, {}, { 'idempotency-key': 'k' })
    const { id } = first.json().dispute
    await requests.close(id, 'won')
    const again = await requests.post(url, {}, { 'idempotency-key': 'k' })
    expect([again.statusCode, again.body, again.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
  })

  it('400: refuses the Idempotency-Key of another body', async () => {
    const url = `/test/transactions/${await requests.captured(merchantId)}/disputes`
    await requests.post(url, {}, { 'idempotency-key': 'other' })
    const other = await requests.post(url, { amount: 1 }, { 'idempotency-key': 'other' })
    expect(statusAndBody(other)).toEqual(refusedField('Idempotency-Key', 'was used with another body', 'MISMATCH'))
  })

  it('201: the due date follows the clock of the merchant', async () => {
    const { id } = await createTestMerchant(payments, member, { test: true })
    const transactionId = await requests.captured(id)
    await requests.post(`/test/merchants/${id}/clock`, { advance: 30 * 86_400 })
    const dispute = await requests.open(transactionId)
    expect(dispute).toEqual({
      due: dueOf(new Date(Date.parse(dispute.created) + 30 * 86_400_000).toISOString()),
      id: anyId,
      merchantId: id,
      transactionId,
      created: anyTime,
      amount: 300,
      currency: 'EUR',
      reason: { code: 4_853, title: 'Cardholder dispute' },
      status: 'open',
    })
  })

  it('401: refuses an unknown key before it looks for the transaction', async () => {
    const live = (await createTestMerchant(payments, member, { currency: 'EUR' })).id
    const liveId = await requests.captured(live)
    const refusal = async (id: string, headers: object = {}, payload: object = {}) =>
      statusAndBody(await requests.post(`/test/transactions/${id}/disputes`, payload, headers))
    expect(await refusal(UNKNOWN_ID, basic('x'))).toEqual(refusals.unauthorized)
    expect(await requests.amounts(liveId)).toEqual({
      disputed: 0n,
      captured: 300n,
      refunded: 0n,
      lost: 0n,
      trail_length: 1,
    })
  })

  it('404: refuses an unknown transaction before the body is judged', async () => {
    const live = (await createTestMerchant(payments, member, { currency: 'EUR' })).id
    const liveId = await requests.captured(live)
    const refusal = async (id: string, headers: object = {}, payload: object = {}) =>
      statusAndBody(await requests.post(`/test/transactions/${id}/disputes`, payload, headers))
    expect(await refusal(UNKNOWN_ID, stranger.headers, { amount: 0 })).toEqual(refusals.notFound)
    expect(await refusal('nonsense', stranger.headers)).toEqual(refusals.notFound)
    expect(await requests.amounts(liveId)).toEqual({
      disputed: 0n,
      captured: 300n,
      refunded: 0n,
      lost: 0n,
      trail_length: 1,
    })
  })

  it('403: refuses an app that is no member of the merchant, before the body is judged', async () => {
    const transactionId = await requests.captured(merchantId)
    const live = (await createTestMerchant(payments, member, { currency: 'EUR' })).id
    const liveId = await requests.captured(live)
    const refusal = async (id: string, headers: object = {}, payload: object = {}) =>
      statusAndBody(await requests.post(`/test/transactions/${id}/disputes`, payload, headers))
    expect(await refusal(transactionId, stranger.headers, { amount: 0 })).toEqual(refusals.forbidden)
    expect(await requests.amounts(liveId)).toEqual({
      disputed: 0n,
      captured: 300n,
      refunded: 0n,
      lost: 0n,
      trail_length: 1,
    })
  })

  it('403: opens no dispute of a live transaction', async () => {
    const live = (await createTestMerchant(payments, member, { currency: 'EUR' })).id
    const liveId = await requests.captured(live)
    const refusal = async (id: string, headers: object = {}, payload: object = {}) =>
      statusAndBody(await requests.post(`/test/transactions/${id}/disputes`, payload, headers))
    expect(await refusal(liveId, {}, { amount: 0 })).toEqual(refusals.forbidden)
    expect(await refusal(liveId)).toEqual(refusals.forbidden)
    expect(await requests.amounts(liveId)).toEqual({
      disputed: 0n,
      captured: 300n,
      refunded: 0n,
      lost: 0n,
      trail_length: 1,
    })
  })

  it('400: opens no more than a thousand disputes of a merchant, and one again when one is decided', async () => {
    const { id } = await createTestMerchant(payments, member, { currency: 'EUR', test: true })
    const url = `/test/transactions/${await requests.captured(id)}/disputes`
    const { dispute } = (await requests.post(url, { amount: 1 })).json()
    await copyDispute(payments, dispute.id, 999)
    const refused = refusedField('body', 'a test merchant has at most 1000 open disputes', 'LIMIT_EXCEEDED')
    expect(statusAndBody(await requests.post(url, { amount: 1 }))).toEqual(refused)
    await requests.post(`/test/disputes/${dispute.id}/outcomes`, { outcome: 'won' })
    expect((await requests.post(url, { amount: 1 })).statusCode).toBe(201)
  })

  it('400: opens only the thousandth of two disputes that wait for the balance at once', async () => {
    const { id } = await createTestMerchant(payments, member, { currency: 'EUR', test: true })
    const paid = [await requests.captured(id), await requests.captured(id), await requests.captured(id)]
    const [first, ...others] = paid.map((transactionId) => `/test/transactions/${transactionId}/disputes`)
    const { dispute } = (await requests.post(String(first), { amount: 1 })).json()
    await copyDispute(payments, dispute.id, 998)
    const answers = await payments.owner.db.transaction().execute(async (trx) => {
      const balance = trx.selectFrom('merchant_balances').select('merchant_id').where('merchant_id', '=', id)
      await balance.forUpdate().execute()
      const both = others.map((url) => requests.post(url, { amount: 1 }).then(statusAndBody))
      await expect.poll(() => countLockWaits(payments)).toBe(2)
      return { both }
    })
    const refused = refusedField('body', 'a test merchant has at most 1000 open disputes', 'LIMIT_EXCEEDED')
    const [opened, ...rest] = (await Promise.all(answers.both)).toSorted(([a], [b]) => Number(a) - Number(b))
    expect([opened?.[0], rest]).toEqual([201, [refused]])
  })

  it('409: refuses when the transaction stays locked', async () => {
    const transactionId = await requests.captured(merchantId)
    await payments.database.db.transaction().execute(async (trx) => {
      await trx
        .selectFrom('transactions')
        .select('id')
        .where('merchant_id', '=', merchantId)
        .where('id', '=', transactionId)
        .forUpdate()
        .execute()
      const response = await requests.post(`/test/transactions/${transactionId}/disputes`)
      expect(statusAndBody(response)).toEqual(refusals.conflict)
      expect(response.headers['retry-after']).toBe('1')
    })
  })
})
