import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyTime, errorBody, statusAndBody } from '../../../../test/bodies.ts'
import { OPERATOR } from '../../../../test/forged-token.ts'
import { failures, openPasskeyApp, type PasskeyApp } from '../../../../test/passkey-app.ts'

let test: PasskeyApp
beforeAll(async () => {
  test = await openPasskeyApp()
})
afterAll(() => test.close())

describe('/admin/users/{user_id}/passkeys', () => {
  it('200: lists the passkeys of a user', async () => {
    const { user, passkeyId } = await test.createWithPasskey()
    const url = `/admin/users/${user.id}/passkeys`
    const listed = await test.app.inject({ url, headers: OPERATOR })
    const body = [{ id: passkeyId, friendly_name: 'Passkey', created_at: anyTime }]
    expect([listed.statusCode, listed.json()]).toEqual([200, body])
  })

  it('204: deletes a passkey of a user, which signs nobody in any more', async () => {
    const { key, user, passkeyId } = await test.createWithPasskey()
    const url = `/admin/users/${user.id}/passkeys/${passkeyId}`
    const deleted = await test.app.inject({ method: 'DELETE', url, headers: OPERATOR })
    expect([deleted.statusCode, deleted.body]).toEqual([204, ''])
    expect((await test.signInBy(key)).json()).toEqual(errorBody(...failures.refused))
  })

  it('404: refuses an unknown passkey, an unknown user and malformed ids', async () => {
    const { user } = await test.createWithPasskey()
    const url = `/admin/users/${user.id}/passkeys`
    await test.fail({ method: 'DELETE', url: `${url}/${randomUUID()}`, headers: OPERATOR }, failures.unknown)
    const nobody = { url: `/admin/users/${randomUUID()}/passkeys`, headers: OPERATOR } as const
    await test.fail({ method: 'GET', ...nobody }, [404, 'user_not_found', 'User not found'])
    const malformed = { method: 'DELETE', url: `${url}/x`, headers: OPERATOR } as const
    await test.fail(malformed, [404, 'validation_failed', 'passkey_id must be an UUID'])
    const other = { method: 'GET', url: '/admin/users/x/passkeys', headers: OPERATOR } as const
    await test.fail(other, [404, 'validation_failed', 'user_id must be an UUID'])
  })

  it('200: a soft deletion removes the passkeys of a user', async () => {
    const { key, user } = await test.createWithPasskey()
    const payload = { should_soft_delete: true }
    const url = `/admin/users/${user.id}`
    const deleted = await test.app.inject({ method: 'DELETE', url, headers: OPERATOR, payload })
    expect(statusAndBody(deleted)).toEqual([200, {}])
    expect(statusAndBody(await test.signInBy(key))).toEqual([400, errorBody(...failures.refused)])
  })
})
