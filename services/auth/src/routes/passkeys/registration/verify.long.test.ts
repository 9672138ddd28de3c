import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApp } from '../../../../test/authenticator-app.ts'
import { answersByStatus, anyId, anyTime, errorBody, statusAndBody } from '../../../../test/bodies.ts'
import { failures, openPasskeyApp, type PasskeyApp, paths } from '../../../../test/passkey-app.ts'
import { createSignedIn, signIn } from '../../../../test/signed-in.ts'

let test: PasskeyApp
beforeAll(async () => {
  test = await openPasskeyApp()
})
afterAll(() => test.close())

const stored = { id: anyId, friendly_name: 'Passkey', created_at: anyTime }
const refused = errorBody(...failures.refused)

describe('POST /passkeys/registration/verify', () => {
  it('200: stores the credential from any origin of the relying party, and records it', async () => {
    const { headers, user } = await createSignedIn(test)
    const answer = await test.register(headers, createAuthenticator('http://localhost:3000'))
    expect([answer.statusCode, answer.json()]).toEqual([200, stored])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect((await test.app.inject({ url: '/passkeys', headers })).json()).toEqual([answer.json()])
    const query = test.deps.db.selectFrom('audit_log_entries').select('action').where('actor_id', '=', user.id)
    expect((await query.execute()).map(({ action }) => action)).toContain('passkey_created')
  })

  // ASVS 2.3.1
  it('400: refuses a used, expired or foreign challenge', async () => {
    const { headers } = await createSignedIn(test)
    const other = await createSignedIn(test)
    const { challenge_id, options } = await test.start(headers)
    const payload = { challenge_id, credential: createAuthenticator().create(options) }
    const request = { method: 'POST', url: paths.finish } as const
    await test.fail({ ...request, headers: other.headers, payload }, failures.challengeNotFound)
    const answers = await Promise.all(Array.from({ length: 5 }, () => test.post(paths.finish, payload, headers)))
    const notFound = errorBody(...failures.challengeNotFound)
    expect(answersByStatus(answers)).toEqual([[200, stored], ...Array(4).fill([400, notFound])])
    await test.fail({ ...request, headers, payload }, failures.challengeNotFound)
    await test.fail({ ...request, headers, payload: { ...payload, challenge_id: 'x' } }, failures.challengeNotFound)
    const late = await test.start(headers)
    test.clock.advance(300_000)
    const expired = { challenge_id: late.challenge_id, credential: payload.credential }
    expect(statusAndBody(await test.post(paths.finish, expired, headers))).toEqual([
      400,
      errorBody(...failures.expired),
    ])
  })

  it('400: refuses an answer to another challenge', async () => {
    const { headers } = await createSignedIn(test)
    const answer = await test.register(headers, createAuthenticator(), { challenge: 'AAAA' })
    expect([answer.statusCode, answer.json()]).toEqual([400, refused])
  })

  it('200: accepts a credential id of 1023 bytes', async () => {
    const { headers } = await createSignedIn(test)
    expect(statusAndBody(await test.register(headers, createAuthenticator(), { idBytes: 1_023 }))).toEqual([
      200,
      stored,
    ])
  })

  it('400: refuses a credential id of 1024 bytes', async () => {
    const { headers } = await createSignedIn(test)
    expect(statusAndBody(await test.register(headers, createAuthenticator(), { idBytes: 1_024 }))).toEqual([
      400,
      refused,
    ])
  })

  it('422: refuses a credential that is already registered', async () => {
    const { headers } = await createSignedIn(test)
    const other = await createSignedIn(test)
    const first = await test.start(headers)
    const second = await test.start(other.headers)
    const credential = createAuthenticator().create(first.options)
    await test.post(paths.finish, { challenge_id: first.challenge_id, credential }, headers)
    // An authenticator answers another user's challenge with the same credential id.
    const forged = createAuthenticator().create(second.options)
    await test.deps.db
      .updateTable('webauthn_credentials')
      .set({ credential_id: forged.id })
      .where('credential_id', '=', credential.id)
      .execute()
    const payload = { challenge_id: second.challenge_id, credential: forged }
    const answer = await test.post(paths.finish, payload, other.headers)
    expect([answer.statusCode, answer.json()]).toEqual([422, errorBody(...failures.taken)])
  })

  it('422: refuses a passkey over the limit of a user, also from parallel requests', async () => {
    const { headers } = await createSignedIn(test)
    const asked = await Promise.all(Array.from({ length: 6 }, () => test.start(headers)))
    const answers = await Promise.all(
      asked.map(({ challenge_id, options }) =>
        test.post(paths.finish, { challenge_id, credential: createAuthenticator().create(options) }, headers),
      ),
    )
    expect(answersByStatus(answers)).toEqual([
      ...Array(3).fill([200, stored]),
      ...Array(3).fill([422, errorBody(...failures.tooMany)]),
    ])
    await test.fail({ method: 'POST', url: paths.start, headers, payload: {} }, failures.tooMany)
  })

  it('403: refuses a session below aal2 of a user with a second factor', async () => {
    const signedIn = await createSignedIn(test)
    const { headers } = await addApp(test, signedIn.headers)
    const { challenge_id, options } = await test.start(headers)
    const payload = { challenge_id, credential: createAuthenticator().create(options) }
    const later = await signIn(test, signedIn)
    await test.fail({ method: 'POST', url: paths.finish, headers: later.headers, payload }, failures.needsAal2)
    expect((await test.post(paths.finish, payload, headers)).json()).toEqual(stored)
  })
})
