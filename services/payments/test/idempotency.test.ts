import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eventRow, merchantJson, refusals, shownMerchant, statusAndBody } from './bodies.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  merchantBody,
  startPayments,
  type TestApp,
  type TestPayments,
} from './payments-app.ts'

let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())
beforeEach(async () => {
  app = await createTestApp(payments)
})

const create = (key: string, payload: object | string = merchantBody, headers: object = {}) =>
  payments.app.inject({
    method: 'POST',
    url: '/merchants',
    headers: { ...app.headers, 'idempotency-key': key, ...headers },
    payload,
  })
const countMerchants = async ({ id } = app) =>
  (await payments.database.db.selectFrom('merchant_apps').select('merchant_id').where('app_id', '=', id).execute())
    .length
const mismatch = [{ field: 'Idempotency-Key', message: 'was used with another body', code: 'MISMATCH' }]

describe('POST with an Idempotency-Key', () => {
  it('201: answers a repeat with the same bytes, however it is written, also after the object has changed', async () => {
    const first = await create('k1')
    expect([first.statusCode, first.headers['idempotent-replayed']]).toEqual([201, undefined])
    const { id } = first.json().merchant
    const put = { method: 'PUT', url: `/merchants/${id}`, headers: app.headers, payload: { name: 'New' } } as const
    expect((await payments.app.inject(put)).statusCode).toBe(204)
    const form =
      'company[country]=DK&descriptor=Coffee+%26+John&website=https://example.com&email=john@example.com&currency=DKK'
    const repeats = [
      await create('k1'),
      await create('k1', Object.fromEntries(Object.entries(merchantBody).reverse())),
      await create('k1', form, { 'content-type': 'application/x-www-form-urlencoded' }),
      await payments.app.inject({
        method: 'POST',
        url: '/merchants/',
        headers: { ...app.headers, 'idempotency-key': 'k1' },
        payload: { ...merchantBody, unknown: 1 },
      }),
    ]
    for (const repeat of repeats) {
      expect([repeat.statusCode, repeat.body]).toEqual([201, first.body])
      expect(repeat.headers['idempotent-replayed']).toBe('true')
      expect(repeat.headers['content-type']).toBe(first.headers['content-type'])
    }
    expect(await countMerchants()).toBe(1)
  })

  it('400: refuses the key with another body, and keeps the first effect', async () => {
    const first = await create('k1')
    const other = await create('k1', { ...merchantBody, currency: 'EUR' })
    expect([other.statusCode, other.json()]).toEqual([400, mismatch])
    expect((await create('k1')).body).toBe(first.body)
    expect(await countMerchants()).toBe(1)
  })

  it.each([[''], ['a b'], ['é'], ['x'.repeat(256)]])('400: refuses the key %j, after access', async (key) => {
    const expected = [
      {
        field: 'Idempotency-Key',
        message: 'must be 1 to 255 printable ASCII characters without spaces',
        code: 'FORMAT',
      },
    ]
    const response = await create(key)
    expect([response.statusCode, response.json()]).toEqual([400, expected])
    expect(statusAndBody(await create(key, merchantBody, basic('unknown')))).toEqual(refusals.unauthorized)
    expect(await countMerchants()).toBe(0)
  })

  it('201: accepts keys of 255 printable characters', async () => {
    for (const key of ['x'.repeat(255), '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~']) {
      const { body } = await create(key)
      expect((await create(key)).body).toBe(body)
    }
    expect(await countMerchants()).toBe(2)
  })

  it('201: creates a merchant by a key under which a request was refused', async () => {
    const missing = ['email', 'website', 'descriptor', 'company.country']
    expect(statusAndBody(await create('k1', { currency: 'EUR' }))).toEqual([
      400,
      missing.map((field) => ({ field, message: 'is required', code: 'REQUIRED' })),
    ])
    const response = await create('k1')
    expect([response.statusCode, response.headers['idempotent-replayed']]).toEqual([201, undefined])
  })

  it('201: keeps the keys of two apps apart', async () => {
    const first = await create('k1')
    const other = await createTestApp(payments)
    const theirs = await create('k1', merchantBody, other.headers)
    expect([theirs.statusCode, theirs.headers['idempotent-replayed']]).toEqual([201, undefined])
    expect(theirs.body).not.toBe(first.body)
  })

  it('403: refuses the repeat of a revoked app', async () => {
    const { id } = (await create('k1')).json().merchant
    await payments.database.db.deleteFrom('merchant_apps').where('merchant_id', '=', id).execute()
    const response = await create('k1')
    expect(statusAndBody(response)).toEqual(refusals.forbidden)
  })

  it('201: has one effect when many requests come at once', async () => {
    const responses = await Promise.all(Array.from({ length: 200 }, () => create('k1')))
    expect(new Set(responses.map(({ statusCode }) => statusCode))).toEqual(new Set([201]))
    expect(new Set(responses.map(({ body }) => body)).size).toBe(1)
    expect(responses.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1)
    expect(await countMerchants()).toBe(1)
  })

  it('409: refuses while another process handles the same request, and then repeats its answer', async () => {
    const { db } = payments.database
    await db
      .transaction()
      .execute(async (trx) => {
        const row = { identity_id: app.id, key: 'k1', fingerprint: Buffer.alloc(32), created: new Date() }
        await trx.insertInto('merchant_creations').values(row).execute()
        const response = await create('k1')
        expect([statusAndBody(response), response.headers['retry-after']]).toEqual([refusals.conflict, '1'])
        throw new Error('the other process fails')
      })
      .catch(() => {})
    expect((await create('k1')).statusCode).toBe(201)
    expect(await countMerchants()).toBe(1)
  })
})

describe('PUT /merchants/:merchantId', () => {
  const change = (id: string, payload: object) =>
    payments.app.inject({ method: 'PUT', url: `/merchants/${id}`, headers: app.headers, payload })
  const eventsOf = (id: string) =>
    payments.database.db.selectFrom('events').selectAll().where('merchant_id', '=', id).orderBy('id').execute()

  it('204: writes one event for a change, and none without a change', async () => {
    const { id } = await createTestMerchant(payments, app)
    for (const payload of [{ name: 'New' }, { name: 'New' }, {}, { email: 'john@example.com' }, { currency: 'EUR' }]) {
      await change(id, payload)
    }
    expect(await eventsOf(id)).toEqual([
      eventRow({
        merchant_id: id,
        type: 'merchant.updated',
        version: 1,
        object_id: id,
        data: merchantJson({ id, name: 'New', balance: 0, descriptor: 'Coffee & John' }),
      }),
    ])
  })

  it('204: keeps the fields of all changes that come at once', async () => {
    const { id } = await createTestMerchant(payments, app)
    const changes = [{ name: 'New' }, { email: 'new@example.com' }, { descriptor: 'New one' }]
    const answers = await Promise.all(changes.map((payload) => change(id, payload)))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([204, 204, 204])
    const response = await payments.app.inject({ url: `/merchants/${id}`, headers: app.headers })
    const changed = Object.assign({ id }, ...changes)
    expect(response.json()).toEqual({ merchant: shownMerchant(changed) })
    const events = await eventsOf(id)
    expect(events).toHaveLength(3)
    expect(events.at(-1)?.data).toEqual(merchantJson(changed))
  })
})
