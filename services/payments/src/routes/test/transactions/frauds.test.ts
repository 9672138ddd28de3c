import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../../../test/bodies.ts'
import { customerPayment } from '../../../../test/customer-payment.ts'
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
let merchantId: string
let transactionId: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
  transactionId = await customerPayment(payments, merchantId)
})
afterAll(() => payments.close())

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const report = (payload: object | string = {}, headers: object = {}, id = transactionId) =>
  payments.app.inject({
    method: 'POST',
    url: `/test/transactions/${id}/frauds`,
    headers: { ...member.headers, ...headers },
    payload,
  })
const get = (url: string, headers: object = {}) =>
  payments.app.inject({ url, headers: { ...member.headers, ...headers } })
const fraudOf = (response: LightMyRequestResponse) => response.json().fraud

describe('POST /test/transactions/:transactionId/frauds', () => {
  const reported = '2026-01-02T03:04:05.678Z'
  it.each<[string, object | string, object, object]>([
    ['nothing', '', { 'content-type': 'application/json' }, {}],
    ['JSON', { reason: 0, reported: '2026-01-02T04:04:05.678+01:00' }, {}, { reason: 0, reported }],
    ['form', `reason=8&reported=${reported}`, FORM, { reason: 8, reported }],
    ['an offset that no place has', { reported: '2026-01-01T03:05:05.678-23:59' }, {}, { reported }],
  ])('201: keeps a report, as %s, moves no money, and shows it', async (_kind, payload, headers, fields) => {
    const response = await report(payload, headers)
    const fraud = fraudOf(response)
    expect([response.statusCode, fraud]).toEqual([
      201,
      { id: fraud.id, merchantId, transactionId, created: createdOf(fraud.id), ...fields },
    ])
    expect((await get(`/frauds/${fraud.id}`)).body).toBe(response.body)
    const list = await get(`/frauds?limit=1&filter[merchantId]=${merchantId}&filter[transactionId]=${transactionId}`)
    expect(list.body).toBe(`[\n${response.body.slice('{"fraud":'.length, -2)}\n]\n`)
    const row = await payments.database.db
      .selectFrom('transactions')
      .select(['pending', 'disputed', 'trail_length'])
      .where('id', '=', transactionId)
      .executeTakeFirst()
    expect(row).toEqual({ pending: 300n, disputed: 0n, trail_length: 0 })
  })

  it('201: answers a repeat with the same bytes, and writes one event for each report', async () => {
    const [first, again] = [await report({}, { 'idempotency-key': 'k' }), await report({}, { 'idempotency-key': 'k' })]
    expect([again.statusCode, again.body, again.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
    const events = await payments.database.db
      .selectFrom('events')
      .select('type')
      .where('object_id', '=', fraudOf(first).id)
      .execute()
    expect(events).toEqual([{ type: 'fraud.created' }])
  })

  it.each<[object, string, string, string]>([
    [{ reason: 9 }, 'reason', 'RANGE', 'must be at most 8'],
    [{ reason: -1 }, 'reason', 'RANGE', 'must be at least 0'],
    [{ reason: 'x' }, 'reason', 'TYPE', 'must be an integer'],
    [{ reported: 'yesterday' }, 'reported', 'FORMAT', 'is not valid'],
    [{ reported: 5 }, 'reported', 'TYPE', 'must be a string'],
    [{ reported: '0000-01-01T00:00:00Z' }, 'reported', 'RANGE', 'must lie between the years 1970 and 9999'],
    [{ reported: '9999-12-31T23:59:59-00:01' }, 'reported', 'RANGE', 'must lie between the years 1970 and 9999'],
  ])('400: refuses %j', async (payload, field, code, message) => {
    const response = await report(payload)
    expect([response.statusCode, response.json()]).toEqual([400, [{ field, message, code }]])
  })

  it('401: refuses an unknown key before it looks for the transaction', async () => {
    const refusal = async (id: string, headers: object = {}) => statusAndBody(await report({ reason: 9 }, headers, id))
    expect(await refusal(UNKNOWN_ID, basic('x'))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown transaction before the body is judged', async () => {
    const refusal = async (id: string, headers: object = {}) => statusAndBody(await report({ reason: 9 }, headers, id))
    expect(await refusal(UNKNOWN_ID)).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member of the merchant, before the body is judged', async () => {
    const refusal = async (id: string, headers: object = {}) => statusAndBody(await report({ reason: 9 }, headers, id))
    expect(await refusal(transactionId, stranger.headers)).toEqual(refusals.forbidden)
  })

  it('403: adds no fraud alert of a live transaction', async () => {
    const live = await customerPayment(payments, (await createTestMerchant(payments, member)).id)
    const refusal = async (id: string, headers: object = {}) => statusAndBody(await report({ reason: 9 }, headers, id))
    expect(await refusal(live)).toEqual(refusals.forbidden)
  })
})
