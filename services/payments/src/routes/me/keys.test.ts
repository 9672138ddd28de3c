import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, refusedField, statusAndBody } from '../../../test/bodies.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  testPepper,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'

let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const list = async (query = 'limit=10', headers: object = app.headers) =>
  payments.app.inject({ url: `/me/keys?${query}`, headers: { ...headers } })
const create = async (headers: object = app.headers, rest: { payload?: string } = {}) =>
  payments.app.inject({ method: 'POST', url: '/me/keys', headers: { ...headers }, ...rest })
const revoke = async (id: string, headers: object = app.headers) =>
  payments.app.inject({ method: 'DELETE', url: `/me/keys/${id}`, headers: { ...headers } })
const firstKey = async () => (await list()).json().at(-1)?.id ?? ''
const auditOf = (id: string) =>
  payments.database.db.selectFrom('audit').select(['action', 'payload']).where('identity_id', '=', id).execute()

const REVOKED = [204, '']
const LAST_KEY = [400, [{ field: 'keyId', message: 'is the last active key', code: 'LIMIT_EXCEEDED' }]]

describe('POST /me/keys', () => {
  beforeAll(async () => {
    app = await createTestApp(payments)
  })

  it('201: gives a second key that is good beside the first', async () => {
    const response = await create()
    expect(response.statusCode).toBe(201)
    const { key } = response.json()
    expect(response.json()).toEqual({
      key: { id: expect.stringMatching(/^[0-9a-f]{24}$/), key: expect.any(String), created: createdOf(key.id) },
    })
    for (const headers of [app.headers, basic(key.key)]) {
      const me = await payments.app.inject({ url: '/me', headers })
      expect(me.json()).toEqual({ identity: { id: app.id, created: createdOf(app.id) } })
    }
    expect(await auditOf(app.id)).toContainEqual({ action: 'key.created', payload: { id: key.id } })
  })

  it('201: makes one key for an Idempotency-Key, and another for another', async () => {
    const repeated = { ...app.headers, 'idempotency-key': 'again-1' }
    const [first, ...others] = await Promise.all([1, 2, 3, 4].map(() => create(repeated)))
    for (const { statusCode, body } of others) expect([statusCode, body]).toEqual([201, first?.body])
    expect([first, ...others].filter((answer) => answer?.headers['idempotent-replayed'] === 'true')).toHaveLength(3)
    const { key } = (await create(repeated)).json()
    expect(key.key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect((await payments.app.inject({ url: '/me', headers: basic(key.key) })).statusCode).toBe(200)
    const other = (await create({ ...app.headers, 'idempotency-key': 'again-2' })).json().key
    const ofNew = (await create({ ...basic(key.key), 'idempotency-key': 'again-1' })).json().key
    expect(new Set([key.id, other.id, ofNew.id]).size).toBe(3)
  })

  it('400: refuses the Idempotency-Key of a key that is revoked', async () => {
    const repeated = { ...app.headers, 'idempotency-key': 'spent' }
    const { key } = (await create(repeated)).json()
    expect(statusAndBody(await revoke(key.id))).toEqual([204, ''])
    const spent = await create(repeated)
    expect([spent.statusCode, spent.json()]).toEqual([
      400,
      [{ field: 'Idempotency-Key', message: 'was used for a key that is revoked', code: 'MISMATCH' }],
    ])
  })

  it('201: makes a key that pepper and database do not reveal', async () => {
    const { key } = expectBody(201, await create({ ...app.headers, 'idempotency-key': 'rotate-1' })).key
    const rows = await payments.database.db.selectFrom('app_keys').select('mac').where('app_id', '=', app.id).execute()
    const guesses = rows.map(({ mac }) => createHmac('sha256', testPepper).update('repeated key').update(mac))
    // Compare only the first twelve digits. The following digits contain the version of the UUID.
    const beginnings = guesses.map((guess) => guess.update('rotate-1').digest('hex').slice(0, 12))
    expect(beginnings).not.toContain(key.replaceAll('-', '').slice(0, 12))
  })

  it('401: makes no key without a good key', async () => {
    expect(statusAndBody(await create(basic('unknown')))).toEqual(refusals.unauthorized)
  })

  it('415: makes no key when the body has another media type', async () => {
    const before = (await list()).body
    const xml = await create({ ...app.headers, 'content-type': 'text/xml' }, { payload: '<a/>' })
    expect([xml.statusCode, xml.json()]).toEqual([
      415,
      { code: 'UNSUPPORTED_MEDIA_TYPE', message: 'The body must be JSON or a form, in UTF-8' },
    ])
    expect((await list()).body).toBe(before)
  })

  it('400: makes no key when the body is not JSON', async () => {
    const before = (await list()).body
    const json = await create({ ...app.headers, 'content-type': 'application/json' }, { payload: '{' })
    expect([json.statusCode, json.json()]).toEqual([
      400,
      [{ field: 'body', message: 'is not valid JSON', code: 'FORMAT' }],
    ])
    expect((await list()).body).toBe(before)
  })
})

describe('GET /me/keys', () => {
  beforeAll(async () => {
    app = await createTestApp(payments)
  })

  it('200: shows the active keys of the app, newest first, without a secret', async () => {
    const { key } = (await create()).json()
    await payments.database.db
      .updateTable('app_keys')
      .set({ expires: new Date('2999-01-01'), last_used: new Date('2026-03-01'), scopes: ['read'] })
      .where('id', '=', key.id)
      .execute()
    const response = await list()
    const first = response.json().at(-1)?.id ?? ''
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual([
      {
        id: key.id,
        keyHint: key.key.slice(-4),
        scopes: ['read'],
        expires: '2999-01-01T00:00:00.000Z',
        lastUsed: '2026-03-01T00:00:00.000Z',
        created: createdOf(key.id),
      },
      { id: first, keyHint: app.key.slice(-4), created: createdOf(first) },
    ])
    expect((await list(`limit=1&before=${key.id}`)).json()).toEqual([
      { id: first, keyHint: expect.any(String), created: createdOf(first) },
    ])
    expect((await list(`limit=1&after=${first}`)).json()).toEqual([
      {
        id: key.id,
        keyHint: expect.any(String),
        scopes: ['read'],
        expires: '2999-01-01T00:00:00.000Z',
        lastUsed: '2026-03-01T00:00:00.000Z',
        created: createdOf(key.id),
      },
    ])
    const other = await createTestApp(payments)
    expect((await list('limit=10', other.headers)).json()).toHaveLength(1)
  })

  it('401: refuses an unknown key before the page is judged', async () => {
    expect(statusAndBody(await list('', basic('unknown')))).toEqual(refusals.unauthorized)
  })

  it('400: refuses a page without a limit', async () => {
    expect(statusAndBody(await list(''))).toEqual(refusedField('limit', 'is required', 'REQUIRED'))
  })
})

describe('DELETE /me/keys/:keyId', () => {
  beforeAll(async () => {
    app = await createTestApp(payments)
  })

  it('204: revokes a key from the next request on', async () => {
    const { key } = (await create()).json()
    const response = await revoke(key.id)
    expect([response.statusCode, response.body]).toEqual([204, ''])
    expect(statusAndBody(await payments.app.inject({ url: '/me', headers: basic(key.key) }))).toEqual(
      refusals.unauthorized,
    )
    expect((await list()).json()).toHaveLength(1)
    expect(statusAndBody(await revoke(key.id))).toEqual(refusals.notFound)
    expect(await auditOf(app.id)).toContainEqual({ action: 'key.revoked', payload: { id: key.id } })
  })

  it('400: keeps the last key that is good', async () => {
    const { key } = (await create()).json()
    await payments.database.db
      .updateTable('app_keys')
      .set({ expires: new Date('2026-01-01') })
      .where('id', '=', key.id)
      .execute()
    expect(statusAndBody(await revoke(await firstKey()))).toEqual(LAST_KEY)
    expect((await list()).statusCode).toBe(200)
  })

  it('404: does not find a key of another app', async () => {
    const other = await createTestApp(payments)
    await create(other.headers)
    const [theirs] = (await list('limit=10', other.headers)).json()
    for (const id of [theirs?.id ?? '', UNKNOWN_ID, 'x']) {
      const response = await revoke(id)
      expect(statusAndBody(response)).toEqual(refusals.notFound)
    }
    expect((await list('limit=10', other.headers)).json()).toHaveLength(2)
  })

  it('401: revokes nothing without a good key', async () => {
    expect(statusAndBody(await revoke(await firstKey(), basic('unknown')))).toEqual(refusals.unauthorized)
  })

  it('204: leaves a key when many requests revoke all of them at once', async () => {
    const racer = await createTestApp(payments)
    const keys = await Promise.all(Array.from({ length: 7 }, () => create(racer.headers)))
    const all = [racer.key, ...keys.map((response) => response.json().key.key)]
    const listed: readonly { id: string }[] = (await list('limit=10', racer.headers)).json()
    const answers = await Promise.all(listed.map(({ id }, i) => revoke(id, basic(all[(i + 3) % 8] ?? ''))))
    const rows = await payments.database.db
      .selectFrom('app_keys')
      .select('id')
      .where('app_id', '=', racer.id)
      .where('revoked', 'is', null)
      .execute()
    const revoked = answers.filter(({ statusCode }) => statusCode === 204)
    expect(revoked.length).toBeGreaterThanOrEqual(1)
    expect(rows).toHaveLength(8 - revoked.length)
    expect(rows.length).toBeGreaterThanOrEqual(1)
    for (const answer of answers)
      expect([REVOKED, LAST_KEY, refusals.unauthorized]).toContainEqual(statusAndBody(answer))
  })
})

it.each([
  ['makes', () => create()],
  ['revokes', async () => revoke(await firstKey())],
])('409: %s no key of an app that another request adds to a merchant', async (_, send) => {
  app = await createTestApp(payments)
  await create()
  const { id } = await createTestMerchant(payments, await createTestApp(payments))
  const before = (await list()).json()
  await payments.database.db.transaction().execute(async (trx) => {
    // The foreign key of a new membership locks the row of the app, as the SQL function `add_app` does.
    await trx.insertInto('merchant_apps').values({ merchant_id: id, app_id: app.id, created: new Date() }).execute()
    const response = await send()
    expect(statusAndBody(response)).toEqual(refusals.conflict)
    expect(response.headers['retry-after']).toBe('1')
  })
  expect((await list()).json()).toEqual(before)
})
