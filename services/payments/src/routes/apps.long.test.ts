import { createSecretKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, statusAndBody } from '../../test/bodies.ts'
import { basic, createdOf, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { buildApp } from '../app.ts'
import { keyMac } from '../apps/app.ts'
import { insertAppInvitation } from '../apps/app-repository.ts'
import { hashToken } from '../members/invitation.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const post = (options: { payload?: string | object; headers?: Record<string, string> } = {}) =>
  payments.app.inject({ method: 'POST', url: '/apps', ...options })

const ID = expect.stringMatching(/^[0-9a-f]{24}$/)
const KEY = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)

/** Requests an app from a service on which registration is not open. */
const ask = async (registration: 'closed' | 'invited', payload: object) => {
  const { deps } = payments
  const other = await buildApp({ ...deps, config: { ...deps.config, registration } })
  const response = await other.inject({ method: 'POST', url: '/apps', payload })
  await other.close()
  return response
}

const UNINVITED = [
  403,
  {
    code: 'REGISTRATION_INVITED',
    message: 'The field code must have the code of an invitation that is unused and at most 14 days old',
  },
]

describe('POST /apps', () => {
  it('201: gives a key to an app without a name', async () => {
    const response = await post()
    expect(response.statusCode).toBe(201)
    expect(response.json()).toEqual({ app: { id: ID, key: KEY } })
    expect(response.body).toMatch(/^\{"app":\{.*\}\}\n$/)
  })

  it.each([
    [{ payload: { name: ' Coffee & John ' } }],
    [{ payload: 'name=Coffee+%26+John', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    [{ payload: '{"name":"Coffee & John"}', headers: { 'content-type': 'application/vnd.api+json' } }],
  ])('201: takes a name: %j', async (options) => {
    const response = await post(options)
    expect(response.statusCode).toBe(201)
    expect(response.json()).toEqual({ app: { id: ID, name: 'Coffee & John', key: KEY } })
  })

  it.each([[{ name: '' }], [{ name: null }], [{ other: 1 }]])(
    '201: makes an app without a name from %j',
    async (payload) => {
      expect(statusAndBody(await post({ payload }))).toEqual([201, { app: { id: ID, key: KEY } }])
    },
  )

  it.each([basic('undefined'), { authorization: 'Basic !' }, { authorization: 'Bearer x' }])(
    '201: ignores the credentials %j',
    async (headers) => {
      expect(statusAndBody(await post({ headers }))).toEqual([201, { app: { id: ID, key: KEY } }])
    },
  )

  it.each([
    [{ name: 5 }, 'must be a string', 'TYPE'],
    [{ name: 'x'.repeat(256) }, 'must be at most 255 characters', 'RANGE'],
    [{ name: 'a\0' }, 'must not contain U+0000 or lone surrogates', 'FORMAT'],
    ['{"name":"\\ud800"}', 'must not contain U+0000 or lone surrogates', 'FORMAT'],
  ])('400: refuses %j', async (payload, message, code) => {
    const response = await post({ payload, headers: { 'content-type': 'application/json' } })
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual([{ field: 'name', message, code }])
    expect(response.headers['x-status-code']).toBe('REQUEST_INVALID')
  })

  it('403: makes no app where registration is closed, or without a code where it is by invitation', async () => {
    const { db } = payments.database
    const count = async () => (await db.selectFrom('apps').select('id').execute()).length
    const { code } = await insertAppInvitation(db, { code: 'c'.repeat(43), note: 'Shop' })
    const old = await insertAppInvitation(db, { code: 'd'.repeat(43), note: null })
    await db
      .updateTable('app_invitations')
      .set({ expires: new Date() })
      .where('code_hash', '=', hashToken(old.code))
      .execute()
    const before = await count()
    const closed = await ask('closed', { code })
    expect(statusAndBody(closed)).toEqual([
      403,
      { code: 'REGISTRATION_CLOSED', message: 'Apps are made by the operator of this service alone' },
    ])
    for (const payload of [{}, { code: 'x' }, { code: '' }, { code: old.code }]) {
      expect(statusAndBody(await ask('invited', payload))).toEqual(UNINVITED)
    }
    expect(await count()).toBe(before)
    const answers = await Promise.all([1, 2, 3].map(() => ask('invited', { name: 'Shop', code })))
    const late = answers.filter(({ statusCode }) => statusCode !== 201).map(statusAndBody)
    expect(late).toEqual([UNINVITED, UNINVITED])
    expect(await count()).toBe(before + 1)
    const { app } = answers.find(({ statusCode }) => statusCode === 201)?.json() ?? {}
    expect((await payments.app.inject({ url: '/me', headers: basic(app?.key ?? '') })).statusCode).toBe(200)
    const invitations = db.selectFrom('app_invitations').select(['note', 'used', 'app_id'])
    expect(await invitations.where('code_hash', '=', hashToken(code)).execute()).toEqual([
      { note: 'Shop', used: expect.any(Date), app_id: app?.id },
    ])
  })

  it('409: makes no app with a code that another request uses', async () => {
    const { db } = payments.database
    const { code } = await insertAppInvitation(db, { code: 'e'.repeat(43), note: null })
    const codeHash = hashToken(code)
    await db.transaction().execute(async (trx) => {
      await trx.selectFrom('app_invitations').select('used').where('code_hash', '=', codeHash).forUpdate().execute()
      const response = await ask('invited', { code })
      expect(statusAndBody(response)).toEqual(refusals.conflict)
      expect(response.headers['retry-after']).toBe('1')
    })
    expect(statusAndBody(await ask('invited', { code }))).toEqual([201, { app: { id: ID, key: KEY } }])
  })

  it('201: stores only the MAC and four characters of the key', async () => {
    const { id, key } = expectBody(201, await post()).app
    const rows = await payments.database.db.selectFrom('app_keys').selectAll().where('app_id', '=', id).execute()
    const created = expect.any(Date)
    expect(rows).toEqual([
      {
        id: ID,
        app_id: id,
        mac: keyMac(createSecretKey(Buffer.alloc(32, 7)), key),
        hint: key.slice(-4),
        created,
        scopes: null,
        expires: null,
        last_used: null,
        revoked: null,
      },
    ])
    const app = await payments.database.db.selectFrom('apps').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    expect(app.created.toISOString()).toBe(createdOf(id))
    const audit = await payments.database.db.selectFrom('audit').selectAll().where('identity_id', '=', id).execute()
    expect(audit).toEqual([
      {
        merchant_id: '0'.repeat(24),
        id: expect.stringMatching(/^[0-9a-f]{16}00000000$/),
        identity_id: id,
        action: 'key.created',
        payload: { id: rows[0]?.id },
        created,
      },
    ])
  })
})

it('429: counts refused registrations as failures, and guesses no code beyond their limit', async () => {
  const limited = await startPayments({
    registration: 'invited',
    rateLimits: { appsPerMinute: 2, failuresPerMinute: 3 },
  })
  const register = async (payload: object) => {
    const response = await limited.app.inject({ method: 'POST', url: '/apps', payload })
    return response.statusCode === 201 ? 201 : statusAndBody(response)
  }
  const invalid = [400, [{ field: 'name', message: 'must be a string', code: 'TYPE' }]]
  const codes = ['f', 'g', 'h'].map((letter) => letter.repeat(43))
  for (const code of codes) await insertAppInvitation(limited.database.db, { code, note: null })
  const outcomes: unknown[] = []
  for (const name of [1, 2, 3]) outcomes.push(await register({ name }))
  expect(outcomes.splice(0)).toEqual([invalid, invalid, invalid])
  for (const code of ['a', 'b', 'c', 'd']) outcomes.push(await register({ code }))
  expect(outcomes.splice(0)).toEqual([UNINVITED, UNINVITED, UNINVITED, refusals.rateLimited])
  // The service also refuses correct codes. They are not used up.
  for (const code of codes) outcomes.push(await register({ code }))
  expect(outcomes).toEqual(codes.map(() => refusals.rateLimited))
  await limited.close()
})

it('429: refused registrations use up no app of their address', async () => {
  const limited = await startPayments({ registration: 'invited', rateLimits: { appsPerMinute: 2 } })
  const codes = ['f', 'g', 'h'].map((letter) => letter.repeat(43))
  for (const code of codes) await insertAppInvitation(limited.database.db, { code, note: null })
  const outcomes: unknown[] = []
  for (const code of ['a', 'b', 'c', ...codes]) {
    const response = await limited.app.inject({ method: 'POST', url: '/apps', payload: { code } })
    outcomes.push(response.statusCode === 201 ? 201 : statusAndBody(response))
  }
  expect(outcomes).toEqual([UNINVITED, UNINVITED, UNINVITED, 201, 201, refusals.rateLimited])
  await limited.close()
})

it('201: makes an app where registration is open, also for an address without failures left', async () => {
  const limited = await startPayments({ rateLimits: { failuresPerMinute: 1 } })
  const url = '/frauds?limit=1'
  const answers = [await limited.app.inject({ url }), await limited.app.inject({ url })]
  expect(answers.map(statusAndBody)).toEqual([refusals.unauthorized, refusals.rateLimited])
  const made = await limited.app.inject({ method: 'POST', url: '/apps' })
  expect(statusAndBody(made)).toEqual([201, { app: { id: ID, key: KEY } }])
  await limited.close()
})
