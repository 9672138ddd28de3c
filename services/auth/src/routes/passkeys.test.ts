import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApp } from '../../test/authenticator-app.ts'
import { anyTime } from '../../test/bodies.ts'
import { failures, openPasskeyApp, type PasskeyApp } from '../../test/passkey-app.ts'
import { createSignedIn, signIn } from '../../test/signed-in.ts'

let test: PasskeyApp
beforeAll(async () => {
  test = await openPasskeyApp()
})
afterAll(() => test.close())

describe('GET /passkeys', () => {
  it('200: lists the passkeys of the caller alone', async () => {
    const { headers, passkeyId } = await test.createWithPasskey()
    const { headers: other } = await createSignedIn(test)
    const listed = await test.app.inject({ url: '/passkeys', headers })
    const body = [{ id: passkeyId, friendly_name: 'Passkey', created_at: anyTime }]
    expect([listed.statusCode, listed.json()]).toEqual([200, body])
    expect(listed.headers['cache-control']).toBe('no-store')
    expect((await test.app.inject({ url: '/passkeys', headers: other })).json()).toEqual([])
  })
})

describe('/passkeys/{passkey_id}', () => {
  it('200: renames a passkey', async () => {
    const { headers, passkeyId } = await test.createWithPasskey()
    const url = `/passkeys/${passkeyId}`
    const renamed = await test.app.inject({ method: 'PATCH', url, headers, payload: { friendly_name: 'Laptop' } })
    const body = { id: passkeyId, friendly_name: 'Laptop', created_at: anyTime }
    expect([renamed.statusCode, renamed.json()]).toEqual([200, body])
    expect((await test.app.inject({ url: '/passkeys', headers })).json()).toEqual([body])
  })

  it('204: deletes a passkey', async () => {
    const { headers, passkeyId } = await test.createWithPasskey()
    const deleted = await test.app.inject({ method: 'DELETE', url: `/passkeys/${passkeyId}`, headers })
    expect([deleted.statusCode, deleted.body]).toEqual([204, ''])
    expect((await test.app.inject({ url: '/passkeys', headers })).json()).toEqual([])
  })

  /** The requests that rename and delete a passkey. */
  const requestsOf = (passkeyId: string) => {
    const url = `/passkeys/${passkeyId}`
    return [
      { method: 'PATCH', url, payload: { friendly_name: 'mine' } },
      { method: 'DELETE', url },
    ] as const
  }

  it.each([
    ['no name', undefined, 'friendly_name may not be empty'],
    ['an empty name', '', 'friendly_name may not be empty'],
    ['a name of 121 characters', 'x'.repeat(121), 'friendly_name may not be longer than 120 characters'],
  ])('400: refuses to give a passkey %s', async (_case, friendly_name, text) => {
    const { headers, passkeyId } = await test.createWithPasskey()
    const request = { method: 'PATCH', url: `/passkeys/${passkeyId}`, headers, payload: { friendly_name } } as const
    await test.fail(request, [400, 'validation_failed', text])
  })

  it('403: refuses a session below aal2 of a user with a second factor', async () => {
    const owner = await test.createWithPasskey()
    await addApp(test, owner.headers)
    const { headers } = await signIn(test, owner)
    for (const request of requestsOf(owner.passkeyId)) await test.fail({ ...request, headers }, failures.needsAal2)
  })

  it('404: refuses a passkey of another user, and an unknown passkey', async () => {
    const { passkeyId } = await test.createWithPasskey()
    const { headers } = await createSignedIn(test)
    for (const request of [...requestsOf(passkeyId), ...requestsOf(randomUUID())]) {
      await test.fail({ ...request, headers }, failures.unknown)
    }
  })

  it('404: refuses a malformed id', async () => {
    const { headers } = await createSignedIn(test)
    const malformed = [404, 'validation_failed', 'passkey_id must be an UUID'] as const
    for (const request of requestsOf('x')) await test.fail({ ...request, headers }, malformed)
  })
})
