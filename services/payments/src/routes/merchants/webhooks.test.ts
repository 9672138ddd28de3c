import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../../test/bodies.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'

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

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const URL = 'https://shop.example/hooks'
const SECRET = expect.stringMatching(/^[\w-]{43}$/)
/** A new webhook for all events. */
const NEW = { id: anyId, url: URL, events: [], secret: SECRET, created: anyTime }

const send = (method: 'POST' | 'DELETE' | 'GET', path: string, headers: object = {}, payload?: object | string) =>
  payments.app.inject({
    method,
    url: `/merchants/${path}`,
    headers: { ...member.headers, ...headers },
    ...(payload === undefined ? {} : { payload }),
  })
const create = (payload: object | string = { url: URL }, headers: object = {}, id = merchantId) =>
  send('POST', `${id}/webhooks`, headers, payload)
const list = (query = 'limit=20', headers: object = {}, id = merchantId) =>
  send('GET', `${id}/webhooks?${query}`, headers)
const remove = (webhookId: string, headers: object = {}, id = merchantId) =>
  send('DELETE', `${id}/webhooks/${webhookId}`, headers)
const rotate = (webhookId: string, headers: object = {}, id = merchantId) =>
  send('POST', `${id}/webhooks/${webhookId}/secrets`, headers)
const createdWebhook = async (payload?: object) => (await create(payload)).json().webhook
const rowOf = (id: string) =>
  payments.database.db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const auditOf = async () =>
  (await payments.database.db.selectFrom('audit').select('action').where('merchant_id', '=', merchantId).execute()).map(
    ({ action }) => action,
  )

describe('POST /merchants/:merchantId/webhooks', () => {
  it.each([
    ['JSON', { url: ` ${URL} `, events: ['app.added', 'merchant.updated'] }, {}],
    ['form', `url=${encodeURIComponent(URL)}&events[]=app.added&events[]=merchant.updated`, FORM],
  ])('201: makes a webhook and shows its secret, as %s', async (_, payload, headers) => {
    const response = await create(payload, headers)
    expect(response.statusCode).toBe(201)
    const { webhook } = response.json()
    const events = ['app.added', 'merchant.updated']
    expect(webhook).toEqual({ id: webhook.id, url: URL, events, secret: SECRET, created: createdOf(webhook.id) })
    expect(JSON.stringify(await rowOf(webhook.id))).not.toContain(webhook.secret)
    expect((await rowOf(webhook.id)).secret_sealed.toString('latin1')).not.toContain(webhook.secret)
    expect(await auditOf()).toEqual(['app.added', 'webhook.created'])
  })

  it.each([[{ url: URL }], [{ url: URL, events: [] }], [{ url: URL, events: null }]])(
    '201: sends all events for %j',
    async (payload) => {
      expect(statusAndBody(await create(payload))).toEqual([201, { webhook: NEW }])
    },
  )

  it('201: permits http for test merchants', async () => {
    const url = 'http://shop.example:8080/'
    expect(statusAndBody(await create({ url }))).toEqual([201, { webhook: { ...NEW, url } }])
  })

  it('201: stores and shows the URL as it was parsed', async () => {
    const { url } = await createdWebhook({ url: 'HTTPS:shop.example:443/a b' })
    expect(url).toBe('https://shop.example/a%20b')
    expect((await list()).json().map((listed: { url: string }) => listed.url)).toEqual([url])
  })

  it.each([
    'HTTP://shop.example:8080/x',
    'http:/shop.example:8080',
    'http:shop.example:8080',
    'http:\\\\shop.example:8080',
  ])('400: refuses %s for live merchants', async (url) => {
    const live = (await createTestMerchant(payments, member)).id
    expect(statusAndBody(await create({ url }, {}, live))).toEqual(
      refusedField(
        'url',
        'must be an https URL: http is for test merchants where PAYMENTS_WEBHOOK_ALLOW_HTTP is set',
        'FORMAT',
      ),
    )
    expect((await list(undefined, {}, live)).json()).toEqual([])
  })

  it('400: refuses http for live merchants', async () => {
    const url = 'http://shop.example:8080/'
    const live = (await createTestMerchant(payments, member)).id
    const refused = await create({ url }, {}, live)
    expect([refused.statusCode, refused.json()]).toEqual([
      400,
      [
        {
          field: 'url',
          message: 'must be an https URL: http is for test merchants where PAYMENTS_WEBHOOK_ALLOW_HTTP is set',
          code: 'FORMAT',
        },
      ],
    ])
  })

  it('201: repeats with an Idempotency-Key, with the secret, also after a change', async () => {
    const key = { 'idempotency-key': 'k' }
    const first = await create({ url: URL }, key)
    const { id, secret } = first.json().webhook
    await rotate(id)
    const second = await create({ url: URL }, key)
    expect([second.statusCode, second.body, second.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
    const rows = await payments.database.db.selectFrom('idempotency').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(secret)
    expect((await list()).json()).toHaveLength(1)
  })

  const inside = 'must not be an address inside a network, unless PAYMENTS_WEBHOOK_ALLOWED_HOSTS names it'
  const badUrl = 'must be an https URL on port 443, 8443 or above 1023, without credentials'
  it.each([
    [{}, 'url', 'is required', 'REQUIRED'],
    [{ url: 5 }, 'url', 'must be a string', 'TYPE'],
    [{ url: 'http://shop.example/' }, 'url', badUrl, 'FORMAT'],
    [{ url: 'https://a:b@shop.example/' }, 'url', badUrl, 'FORMAT'],
    [{ url: 'https://shop.example:22/' }, 'url', badUrl, 'FORMAT'],
    [{ url: 'https://127.0.0.1/' }, 'url', inside, 'FORMAT'],
    [{ url: 'https://localhost:3000/' }, 'url', inside, 'FORMAT'],
    [{ url: 'http://hooks.localhost:3000/' }, 'url', inside, 'FORMAT'],
    [{ url: 'https://[fd00::1]/' }, 'url', inside, 'FORMAT'],
    [{ url: 'https://169.254.169.254/' }, 'url', inside, 'FORMAT'],
    [{ url: `https://shop.example/${'x'.repeat(2048)}` }, 'url', 'must be at most 2048 characters', 'RANGE'],
    [{ url: URL, events: 'app.added' }, 'events', 'must be an array', 'TYPE'],
    [{ url: URL, events: { length: { toString: 0 } } }, 'events', 'must be an array', 'TYPE'],
    [{ url: URL, events: ['app.gone'] }, 'events.0', 'is not a type of event', 'UNKNOWN'],
    [{ url: URL, events: [5] }, 'events.0', 'must be a string', 'TYPE'],
  ])('400: refuses %j', async (payload, field, message, code) => {
    const response = await create(payload)
    expect([response.statusCode, response.json()]).toEqual([400, [{ field, message, code }]])
    expect((await list()).json()).toEqual([])
  })

  it('400: refuses the Idempotency-Key of another webhook, and makes none', async () => {
    const key = { 'idempotency-key': 'other' }
    await create({ url: URL }, key)
    expect(statusAndBody(await create({ url: `${URL}/2` }, key))).toEqual(
      refusedField('Idempotency-Key', 'was used with another body', 'MISMATCH'),
    )
    expect((await list()).json()).toHaveLength(1)
  })

  it('400: permits ten, also when many requests come at once', async () => {
    const answers = await Promise.all(Array.from({ length: 14 }, () => create()))
    const refused = answers.filter(({ statusCode }) => statusCode !== 201)
    expect(refused.map(statusAndBody)).toEqual(
      Array.from({ length: 4 }, () => refusedField('body', 'a merchant has at most 10 webhooks', 'LIMIT_EXCEEDED')),
    )
    const all = (await list()).json()
    expect(all).toHaveLength(10)
    await remove(all[0]?.id ?? '')
    expect(statusAndBody(await create())).toEqual([201, { webhook: NEW }])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    expect(statusAndBody(await create({}, basic('x'), UNKNOWN_ID))).toEqual(refusals.unauthorized)
    expect((await list()).json()).toEqual([])
  })

  it('404: refuses an unknown merchant before the body is judged', async () => {
    expect(statusAndBody(await create({}, {}, UNKNOWN_ID))).toEqual(refusals.notFound)
    expect((await list()).json()).toEqual([])
  })

  it('403: refuses an app that is no member, before the body is judged', async () => {
    expect(statusAndBody(await create({}, stranger.headers))).toEqual(refusals.forbidden)
    expect(statusAndBody(await create({ url: 'https://127.0.0.1/' }, stranger.headers))).toEqual(refusals.forbidden)
    expect((await list()).json()).toEqual([])
  })
})

describe('GET /merchants/:merchantId/webhooks', () => {
  // ASVS 15.3.1
  it('200: shows when a webhook was disabled, and no secret', async () => {
    const [a, b] = [await createdWebhook({ url: URL }), await createdWebhook({ url: URL, events: ['user.invited'] })]
    await payments.database.db
      .updateTable('webhooks')
      .set({ disabled: new Date('2026-03-01') })
      .where('id', '=', a.id)
      .execute()
    const response = await list()
    expect([response.statusCode, response.json()]).toEqual([
      200,
      [
        { id: b.id, url: URL, events: ['user.invited'], created: createdOf(b.id) },
        { id: a.id, url: URL, events: [], disabled: '2026-03-01T00:00:00.000Z', created: createdOf(a.id) },
      ],
    ])
    expect((await list(`limit=1&before=${b.id}`)).json()).toEqual([
      {
        id: a.id,
        url: 'https://shop.example/hooks',
        events: [],
        disabled: '2026-03-01T00:00:00.000Z',
        created: createdOf(a.id),
      },
    ])
    expect((await list(`limit=1&after=${a.id}`)).json()).toEqual([
      { id: b.id, url: 'https://shop.example/hooks', events: ['user.invited'], created: createdOf(b.id) },
    ])
    expect((await list('limit=9&filter[test]=n')).json()).toEqual([])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    expect(statusAndBody(await list('', basic('x'), UNKNOWN_ID))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant before the page is judged', async () => {
    expect(statusAndBody(await list('', {}, UNKNOWN_ID))).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the page is judged', async () => {
    expect(statusAndBody(await list('', stranger.headers))).toEqual(refusals.forbidden)
  })

  it('400: refuses a page without a limit', async () => {
    expect(statusAndBody(await list(''))).toEqual(refusedField('limit', 'is required', 'REQUIRED'))
  })
})

describe('DELETE /merchants/:merchantId/webhooks/:webhookId', () => {
  it('204: deletes a webhook, which the list and a second request no longer find', async () => {
    const { id } = await createdWebhook()
    const response = await remove(id.toUpperCase())
    expect([response.statusCode, response.body]).toEqual([204, ''])
    expect((await list()).json()).toEqual([])
    expect(statusAndBody(await remove(id))).toEqual(refusals.notFound)
    expect(await auditOf()).toEqual(['app.added', 'webhook.created', 'webhook.deleted'])
  })

  it('401: deletes no webhook by an unknown key', async () => {
    const { id } = await createdWebhook()
    expect(statusAndBody(await remove(id, basic('x')))).toEqual(refusals.unauthorized)
    expect((await list()).json()).toHaveLength(1)
  })

  it('404: deletes no webhook below another merchant', async () => {
    const { id } = await createdWebhook()
    const other = (await createTestMerchant(payments, member)).id
    expect(statusAndBody(await remove(id, {}, UNKNOWN_ID))).toEqual(refusals.notFound)
    expect(statusAndBody(await remove(id, {}, other))).toEqual(refusals.notFound)
    expect(statusAndBody(await remove('x'))).toEqual(refusals.notFound)
    expect((await list()).json()).toHaveLength(1)
  })

  it('403: deletes no webhook for an app that is no member', async () => {
    const { id } = await createdWebhook()
    expect(statusAndBody(await remove(id, stranger.headers))).toEqual(refusals.forbidden)
    expect((await list()).json()).toHaveLength(1)
  })
})
