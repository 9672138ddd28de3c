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
  it('200 and 204: renames and deletes a passkey', async () => {
    const { headers, passkeyId } = await test.createWithPasskey()
    const url = `/passkeys/${passkeyId}`
    const renamed = await test.app.inject({ method: 'PATCH', url, headers, payload: { friendly_name: 'Laptop' } })
    const body = { id: passkeyId, friendly_name: 'Laptop', created_at: anyTime }
    expect([renamed.statusCode, renamed.json()]).toEqual([200, body])
    const deleted = await test.app.inject({ method: 'DELETE', url, headers })
    expect([deleted.statusCode, deleted.body]).toEqual([204, ''])
    expect((await test.app.inject({ url: '/passkeys', headers })).json()).toEqual([])
  })

  it('400, 403 and 404: refuses an empty name, a session below aal2 and a passkey of another user', async () => {
    const owner = await test.createWithPasskey()
    const { headers } = owner
    const { headers: other } = await createSignedIn(test)
    const url = `/passkeys/${owner.passkeyId}`
    const rename = { method: 'PATCH', url, payload: { friendly_name: 'mine' } } as const
    const remove = { method: 'DELETE', url } as const
    const empty = [400, 'validation_failed', 'friendly_name may not be empty'] as const
    await test.fail({ ...rename, headers, payload: {} }, empty)
    const long = [400, 'validation_failed', 'friendly_name may not be longer than 120 characters'] as const
    await test.fail({ ...rename, headers, payload: { friendly_name: 'x'.repeat(121) } }, long)
    await test.fail({ ...rename, headers: other }, failures.unknown)
    await test.fail({ ...remove, headers: other }, failures.unknown)
    await test.fail({ ...remove, url: `/passkeys/${randomUUID()}`, headers: other }, failures.unknown)
    const malformed = [404, 'validation_failed', 'passkey_id must be an UUID'] as const
    await test.fail({ ...remove, url: '/passkeys/x', headers: other }, malformed)
    await addApp(test, headers)
    const later = await signIn(test, owner)
    await test.fail({ ...remove, headers: later.headers }, failures.needsAal2)
    await test.fail({ ...rename, headers: later.headers }, failures.needsAal2)
  })
})
