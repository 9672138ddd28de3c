import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, statusAndBody } from '../../../test/bodies.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import { createTestApp, startPayments, type TestApp, type TestPayments } from '../../../test/payments-app.ts'

let payments: TestPayments
let named: { readonly id: string; readonly key: string }
let plain: TestApp
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  named = (await payments.app.inject({ method: 'POST', url: '/apps', payload: { name: 'Corner Shop' } })).json().app
  plain = await createTestApp(payments)
})
afterAll(() => payments.close())

const get = (query: string) =>
  payments.app.inject({ url: `/operator/apps?${query}`, headers: operatorHeaders('viewer') })
const shown = ({ id, key }: { id: string; key: string }, more: object = {}) => ({
  id,
  created: anyTime,
  keys: [{ id: anyId, keyHint: key.slice(-4), created: anyTime }],
  ...more,
})

describe('GET /operator/apps', () => {
  it('200: lists the apps of everybody, newest first, with the hints of their keys', async () => {
    const apps = [shown(plain), shown(named, { name: 'Corner Shop' })]
    expect(statusAndBody(await get(''))).toEqual([200, { apps }])
  })

  it('200: finds apps by id, by the beginning of a name in any case, and by the end of a key', async () => {
    const searches = [named.id.toUpperCase(), 'corner', named.key.slice(-4), 'shop', 'x']
    const answers = await Promise.all(searches.map((search) => get(`search=${encodeURIComponent(search)}`)))
    const found = answers.map((answer) => expectBody(200, answer).apps.map(({ id }: { id: string }) => id))
    expect(found).toEqual([[named.id], [named.id], [named.id], [], []])
  })

  it('200: shows revoked keys as such, and Link leads on', async () => {
    const headers = { ...operatorHeaders('admin'), 'idempotency-key': 'revoke' }
    await payments.app.inject({ method: 'DELETE', url: `/operator/apps/${plain.id}/keys`, headers })
    const answer = await get('limit=1')
    const [link] = String(answer.headers.link).split('>')
    const next = await payments.app.inject({ url: link?.slice(1) ?? '', headers: operatorHeaders('viewer') })
    const [{ keys }] = expectBody(200, answer).apps
    expect([keys, expectBody(200, next).apps.map(({ id }: { id: string }) => id), next.headers.link]).toEqual([
      [{ id: anyId, keyHint: plain.key.slice(-4), created: anyTime, revoked: anyTime }],
      [named.id],
      undefined,
    ])
  })

  it('400: refuses a cursor of another list', async () => {
    const fields = [{ field: 'cursor', message: 'must be a cursor of this list', code: 'FORMAT' }]
    const cursor = Buffer.from(`merchants ${plain.id}`).toString('base64url')
    expect(statusAndBody(await get(`cursor=${cursor}`))).toEqual([400, fields])
  })
})
