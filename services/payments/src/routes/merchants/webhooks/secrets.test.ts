import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../../../test/bodies.ts'
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
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
})
afterAll(() => payments.close())
beforeEach(async () => {
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
})

const URL = 'https://shop.example/hooks'
const SECRET = expect.stringMatching(/^[\w-]{43}$/)

const send = (method: 'POST' | 'DELETE' | 'GET', path: string, headers: object = {}, payload?: object | string) =>
  payments.app.inject({
    method,
    url: `/merchants/${path}`,
    headers: { ...member.headers, ...headers },
    ...(payload === undefined ? {} : { payload }),
  })
const create = (payload: object | string = { url: URL }, headers: object = {}, id = merchantId) =>
  send('POST', `${id}/webhooks`, headers, payload)
const rotate = (webhookId: string, headers: object = {}, id = merchantId) =>
  send('POST', `${id}/webhooks/${webhookId}/secrets`, headers)
const createdWebhook = async (payload?: object) => (await create(payload)).json().webhook
const rowOf = (id: string) =>
  payments.database.db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const auditOf = async () =>
  (await payments.database.db.selectFrom('audit').select('action').where('merchant_id', '=', merchantId).execute()).map(
    ({ action }) => action,
  )

describe('POST /merchants/:merchantId/webhooks/:webhookId/secrets', () => {
  it('201: answers a new secret, and keeps the previous one for a day', async () => {
    const { id, secret } = await createdWebhook()
    const before = await rowOf(id)
    const response = await rotate(id)
    expect(response.statusCode).toBe(201)
    const { webhook } = response.json()
    expect(webhook).toEqual({ id, url: URL, events: [], secret: SECRET, created: createdOf(id) })
    expect(webhook.secret).not.toBe(secret)
    const row = await rowOf(id)
    expect(row.previous_sealed).toEqual(before.secret_sealed)
    const hours = ((row.previous_until?.getTime() ?? 0) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(23.9)
    expect(hours).toBeLessThanOrEqual(24)
    expect(await auditOf()).toEqual(['app.added', 'webhook.created', 'webhook.secret-rotated'])
  })

  it('201: repeats with an Idempotency-Key, and rotates once', async () => {
    const { id } = await createdWebhook()
    const key = { 'idempotency-key': 'k' }
    const answers = await Promise.all(Array.from({ length: 5 }, () => rotate(id, key)))
    const first = answers[0]?.body
    expect(new Set(answers.map(({ statusCode, body }) => `${statusCode} ${body}`))).toEqual(new Set([`201 ${first}`]))
    await rotate(id)
    const again = await rotate(id, key)
    expect([again.statusCode, again.body]).toEqual([201, first])
  })

  it('401: rotates no secret by an unknown key', async () => {
    const { id } = await createdWebhook()
    const before = await rowOf(id)
    expect(statusAndBody(await rotate(id, basic('x')))).toEqual(refusals.unauthorized)
    expect(await rowOf(id)).toEqual(before)
  })

  it('404: rotates no secret below another merchant', async () => {
    const { id } = await createdWebhook()
    const before = await rowOf(id)
    const other = (await createTestMerchant(payments, member)).id
    expect(statusAndBody(await rotate(id, {}, UNKNOWN_ID))).toEqual(refusals.notFound)
    expect(statusAndBody(await rotate(id, {}, other))).toEqual(refusals.notFound)
    expect(statusAndBody(await rotate(UNKNOWN_ID))).toEqual(refusals.notFound)
    expect(await rowOf(id)).toEqual(before)
  })

  it('403: rotates no secret for an app that is no member', async () => {
    const { id } = await createdWebhook()
    const before = await rowOf(id)
    expect(statusAndBody(await rotate(id, stranger.headers))).toEqual(refusals.forbidden)
    expect(await rowOf(id)).toEqual(before)
  })

  it('415: rotates no secret when the body cannot be read', async () => {
    const { id } = await createdWebhook()
    const before = await rowOf(id)
    const unreadable = await send(
      'POST',
      `${merchantId}/webhooks/${id}/secrets`,
      { 'content-type': 'text/xml' },
      '<a/>',
    )
    expect(statusAndBody(unreadable)).toEqual(refusals.unsupportedMediaType)
    expect(await rowOf(id)).toEqual(before)
  })
})
