import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from './bodies.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  merchantBody,
  startPayments,
  type TestApp,
  type TestPayments,
} from './payments-app.ts'

describe('a user with a token', () => {
  let payments: TestPayments
  let app: TestApp
  beforeAll(async () => {
    // The stub takes the token itself for the verified address.
    payments = await startPayments({
      verifyUser: async (token) => (token.includes('bad') || token === '' ? undefined : `${token}@example.com`),
    })
    app = await createTestApp(payments)
  })
  afterAll(() => payments.close())

  const as = (name: string) => ({ authorization: `Bearer ${name}` })
  const get = (url: string, headers: object) => payments.app.inject({ url, headers: { ...headers } })
  const identityOf = async (name: string) => (await get('/me', as(name))).json().identity

  it('200: is found by the address, invited or not', async () => {
    const response = await get('/me', as('ada'))
    const { id } = response.json().identity
    expect([response.statusCode, response.body]).toEqual([
      200,
      `{"identity":{"id":"${id}","email":"ada@example.com","created":"${createdOf(id)}"}}\n`,
    ])
    const all = await Promise.all(['ada', 'ADA', 'Grace', 'grace', 'grace'].map(identityOf))
    expect(new Set(all.map((identity) => identity.id)).size).toBe(2)
  })

  it('200: shows a merchant to a user from the acceptance of the invitation until the revocation', async () => {
    const { id } = await createTestMerchant(payments, app)
    const user = await identityOf('edsger')
    expect(statusAndBody(await get(`/merchants/${id}`, as('edsger')))).toEqual(refusals.forbidden)
    await payments.app.inject({
      method: 'POST',
      url: `/merchants/${id}/users`,
      headers: app.headers,
      payload: { email: 'Edsger@example.com' },
    })
    expect(statusAndBody(await get(`/merchants/${id}`, as('edsger')))).toEqual(refusals.forbidden)
    const { db } = payments.database
    await db.updateTable('merchant_users').set({ pending: false }).where('merchant_id', '=', id).execute()
    expect((await get(`/merchants/${id}`, as('edsger'))).statusCode).toBe(200)
    const mine = await get(`/identities/${user.id}/merchants?limit=5`, as('edsger'))
    expect(mine.json().map((merchant: { id: string }) => merchant.id)).toEqual([id])
    expect(statusAndBody(await get(`/identities/${app.id}/merchants?limit=5`, as('edsger')))).toEqual(
      refusals.forbidden,
    )
    const invite = { method: 'POST', url: `/merchants/${id}/users`, headers: as('edsger') } as const
    expect((await payments.app.inject({ ...invite, payload: { email: 'x@example.com' } })).statusCode).toBe(201)
    await payments.app.inject({ method: 'DELETE', url: `/merchants/${id}/users/${user.id}`, headers: app.headers })
    expect(statusAndBody(await get(`/merchants/${id}`, as('edsger')))).toEqual(refusals.forbidden)
  })

  describe('of a merchant without an app', () => {
    const LAST = [400, [{ field: 'userId', code: 'LIMIT_EXCEEDED', message: 'is the only user of the merchant' }]]
    const LAST_APP = [400, [{ field: 'appId', code: 'LIMIT_EXCEEDED', message: 'is the only app of the merchant' }]]
    const create = async (test: boolean): Promise<string> => {
      const payload = { ...merchantBody, test }
      const url = '/merchants'
      return (await payments.app.inject({ method: 'POST', url, headers: as('mary'), payload })).json().merchant.id
    }
    const leave = async (id: string, name: string, by = name) => {
      const url = `/merchants/${id}/users/${await memberId(id, name)}`
      return payments.app.inject({ method: 'DELETE', url, headers: as(by) })
    }
    const memberId = async (id: string, name: string) =>
      (await get(`/merchants/${id}/users?limit=9`, as('mary')))
        .json()
        .find(({ email }: { email: string }) => email === `${name}@example.com`)?.id
    const invite = async (id: string, name: string) => {
      const payload = { email: `${name}@example.com` }
      await payments.app.inject({ method: 'POST', url: `/merchants/${id}/users`, headers: as('mary'), payload })
    }
    const join = async (id: string, name: string) => {
      await invite(id, name)
      const { db } = payments.database
      await db.updateTable('merchant_users').set({ pending: false }).where('merchant_id', '=', id).execute()
    }

    it('400: stays as the last user of a live merchant, invited users or not', async () => {
      const id = await create(false)
      await invite(id, 'invited')
      expect(statusAndBody(await leave(id, 'mary'))).toEqual(LAST)
      expect((await get(`/merchants/${id}`, as('mary'))).statusCode).toBe(200)
      expect(statusAndBody(await leave(id, 'invited', 'mary'))).toEqual([204, ''])
    })

    it('204: leaves a test merchant, and a live one that has another user or an app', async () => {
      expect(statusAndBody(await leave(await create(true), 'mary'))).toEqual([204, ''])
      const shared = await create(false)
      await join(shared, 'joan')
      expect(statusAndBody(await leave(shared, 'mary'))).toEqual([204, ''])
      const served = await create(false)
      const url = `/merchants/${served}/apps`
      await payments.app.inject({ method: 'POST', url, headers: as('mary'), payload: { appId: app.id } })
      expect(statusAndBody(await leave(served, 'mary'))).toEqual([204, ''])
    })

    it.each(['expires', 'revoked'] as const)('400: stays with an app whose keys are of no use: %s', async (column) => {
      const id = await create(false)
      const idle = await createTestApp(payments)
      const url = `/merchants/${id}/apps`
      await payments.app.inject({ method: 'POST', url, headers: as('mary'), payload: { appId: idle.id } })
      const keys = payments.owner.db.updateTable('app_keys').where('app_id', '=', idle.id)
      await keys.set({ [column]: new Date(0) }).execute()
      expect(statusAndBody(await leave(id, 'mary'))).toEqual(LAST)
    })

    it('400: one of two users who leave at once stays', async () => {
      for (let round = 0; round < 5; round += 1) {
        const id = await create(false)
        await join(id, 'joan')
        const ids = [await memberId(id, 'mary'), await memberId(id, 'joan')]
        const answers = await Promise.all(
          ['mary', 'joan'].map((name, which) =>
            payments.app.inject({ method: 'DELETE', url: `/merchants/${id}/users/${ids[which]}`, headers: as(name) }),
          ),
        )
        expect(answers.map(statusAndBody).sort()).toEqual([[204, ''], LAST])
      }
    })

    it('400: a user who leaves in parallel with the last app stays, unless the app does', async () => {
      for (let round = 0; round < 5; round += 1) {
        const id = await create(false)
        const leaving = await createTestApp(payments)
        const url = `/merchants/${id}/apps`
        await payments.app.inject({ method: 'POST', url, headers: as('mary'), payload: { appId: leaving.id } })
        const user = await memberId(id, 'mary')
        const answers = await Promise.all([
          payments.app.inject({ method: 'DELETE', url: `${url}/${leaving.id}`, headers: leaving.headers }),
          payments.app.inject({ method: 'DELETE', url: `/merchants/${id}/users/${user}`, headers: as('mary') }),
        ])
        expect([
          [LAST_APP, [204, '']],
          [[204, ''], LAST],
        ]).toContainEqual(answers.map(statusAndBody))
      }
    })
  })

  it('201: makes merchants, once for an Idempotency-Key, and is their first member', async () => {
    const user = await identityOf('barbara')
    const create = () =>
      payments.app.inject({
        method: 'POST',
        url: '/merchants',
        headers: { ...as('barbara'), 'idempotency-key': 'k' },
        payload: merchantBody,
      })
    const [first, second] = [await create(), await create()]
    expect([first.statusCode, second.body]).toEqual([201, first.body])
    const { id } = first.json().merchant
    const users = await get(`/merchants/${id}/users?limit=5`, as('barbara'))
    expect(users.json()).toEqual([
      { id: user.id, email: 'barbara@example.com', created: createdOf(user.id), pending: false },
    ])
    expect((await get(`/merchants/${id}/apps?limit=5`, as('barbara'))).json()).toEqual([])
    expect(statusAndBody(await get(`/merchants/${id}`, app.headers))).toEqual(refusals.forbidden)
  })

  it('403: may not list, make or delete the keys of apps', async () => {
    for (const [method, url] of [
      ['GET', '/me/keys?limit=5'],
      ['POST', '/me/keys'],
      ['DELETE', `/me/keys/${app.id}`],
    ] as const) {
      const response = await payments.app.inject({ method, url, headers: as('ada') })
      expect(statusAndBody(response)).toEqual(refusals.forbidden)
    }
  })

  it('401: is refused with a bad token, or a token in another form', async () => {
    for (const authorization of ['Bearer bad', 'Bearer', 'Bearer a b', 'Token ada', 'Bearer a/b']) {
      const response = await get('/me', { authorization })
      expect(statusAndBody(response)).toEqual(refusals.unauthorized)
    }
  })
})

describe('without users', () => {
  it('401: refuses every token where users cannot sign in', async () => {
    const payments = await startPayments()
    const response = await payments.app.inject({ url: '/me', headers: { authorization: 'Bearer ada' } })
    expect(statusAndBody(response)).toEqual(refusals.unauthorized)
    await payments.close()
  })
})
