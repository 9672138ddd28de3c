import { anyTime } from '@trestle/testing/any-text.ts'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../../../test/bodies.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let id: string
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
})
beforeEach(async () => {
  id = (await createTestMerchant(payments, member, { test: true })).id
})
afterAll(() => payments.close())

const advance = (payload: object | string, headers: object = {}, merchantId = id) =>
  payments.app.inject({
    method: 'POST',
    url: `/test/merchants/${merchantId}/clock`,
    headers: { ...member.headers, ...headers },
    payload,
  })
const nowOf = (response: LightMyRequestResponse) => Date.parse(response.json().clock.now)

describe('POST /test/merchants/:merchantId/clock', () => {
  it('201: advances the clock and answers its time, by JSON and by form', async () => {
    const first = await advance({ advance: 0 })
    expect(first.statusCode).toBe(201)
    expect(first.json()).toEqual({ clock: { now: anyTime } })
    expect(Math.abs(nowOf(first) - Date.now())).toBeLessThan(60_000)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const second = await advance('advance=86400', form)
    const third = await advance({ advance: 86_400 })
    expect(nowOf(third) - nowOf(second)).toBeGreaterThanOrEqual(86_400_000)
    expect(nowOf(third) - Date.now()).toBeGreaterThan(2 * 86_400_000 - 60_000)
  })

  it('201: counts each of many requests at once', async () => {
    const { id: other } = await createTestMerchant(payments, member, { test: true })
    await Promise.all(Array.from({ length: 20 }, () => advance({ advance: 3_600 }, {}, other)))
    expect(nowOf(await advance({ advance: 0 }, {}, other)) - Date.now()).toBeGreaterThan(20 * 3_600_000 - 60_000)
  })

  it('201: answers a repeat with the same bytes, and advances the clock once', async () => {
    const key = { 'idempotency-key': 'k' }
    const first = await advance({ advance: 86_400 }, key)
    const again = await advance({ advance: 86_400 }, key)
    expect([again.statusCode, again.body, again.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
    expect(nowOf(await advance({ advance: 0 })) - nowOf(first)).toBeLessThan(60_000)
  })

  it('400: refuses to go more than 100 years ahead', async () => {
    const { id: other } = await createTestMerchant(payments, member, { test: true })
    const century = 100 * 365 * 86_400
    expect(statusAndBody(await advance({ advance: century }, {}, other))).toEqual([201, { clock: { now: anyTime } }])
    expect(statusAndBody(await advance({ advance: 0 }, {}, other))).toEqual([201, { clock: { now: anyTime } }])
    for (const seconds of [1, Number.MAX_SAFE_INTEGER]) {
      const response = await advance({ advance: seconds }, {}, other)
      expect([response.statusCode, response.json()]).toEqual([
        400,
        [{ field: 'advance', message: 'must not lead more than 100 years ahead', code: 'RANGE' }],
      ])
    }
  })

  it.each<[object, string, string]>([
    [{}, 'REQUIRED', 'is required'],
    [{ advance: -1 }, 'RANGE', 'must be at least 0'],
    [{ advance: 1.5 }, 'TYPE', 'must be an integer'],
    [{ advance: '1' }, 'TYPE', 'must be an integer'],
  ])('400: refuses %j', async (payload, code, message) => {
    const response = await advance(payload)
    expect([response.statusCode, response.json()]).toEqual([400, [{ field: 'advance', message, code }]])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    const refusal = async (merchantId: string, headers: object = {}) =>
      statusAndBody(await advance({}, headers, merchantId))
    expect(await refusal(UNKNOWN_ID, basic('x'))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant before the body is judged', async () => {
    const refusal = async (merchantId: string, headers: object = {}) =>
      statusAndBody(await advance({}, headers, merchantId))
    expect(await refusal(UNKNOWN_ID)).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the body is judged', async () => {
    const stranger = await createTestApp(payments)
    const refusal = async (merchantId: string, headers: object = {}) =>
      statusAndBody(await advance({}, headers, merchantId))
    expect(await refusal(id, stranger.headers)).toEqual(refusals.forbidden)
  })

  it('403: advances no clock of a live merchant', async () => {
    const live = (await createTestMerchant(payments, member)).id
    const refusal = async (merchantId: string, headers: object = {}) =>
      statusAndBody(await advance({}, headers, merchantId))
    expect(await refusal(live)).toEqual(refusals.forbidden)
  })
})
