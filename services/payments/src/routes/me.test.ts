import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../test/bodies.ts'
import { basic, createdOf, createTestApp, startPayments, type TestPayments } from '../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

describe('GET /me', () => {
  it('200: shows the identity of the caller', async () => {
    const { id, headers } = await createTestApp(payments)
    const response = await payments.app.inject({ url: '/me', headers })
    expect(response.statusCode).toBe(200)
    expect(response.body).toBe(`{"identity":{"id":"${id}","created":"${createdOf(id)}"}}\n`)
  })

  it('200: shows the id, the name and the creation of the app', async () => {
    const created = await payments.app.inject({ method: 'POST', url: '/apps', payload: { name: 'Shop' } })
    const { id, key } = created.json().app
    const response = await payments.app.inject({ url: '/me/', headers: basic(key) })
    expect(statusAndBody(response)).toEqual([200, { identity: { id, name: 'Shop', created: createdOf(id) } }])
  })

  it('401: refuses revoked and expired keys with the same words', async () => {
    const { id, headers } = await createTestApp(payments)
    const keys = () => payments.database.db.updateTable('app_keys').where('app_id', '=', id)
    const unknown = await payments.app.inject({ url: '/me', headers: basic('unknown') })
    await keys()
      .set({ expires: new Date('2026-01-01') })
      .execute()
    const expired = await payments.app.inject({ url: '/me', headers })
    await keys()
      .set({ expires: null, revoked: new Date('2026-01-01') })
      .execute()
    const revoked = await payments.app.inject({ url: '/me', headers })
    for (const response of [unknown, expired, revoked]) {
      expect(statusAndBody(response)).toEqual(refusals.unauthorized)
    }
    await keys()
      .set({ revoked: null, expires: new Date('2999-01-01') })
      .execute()
    expect((await payments.app.inject({ url: '/me', headers })).statusCode).toBe(200)
  })
})
