import { randomUUID } from 'node:crypto'
import {
  createAuthenticator,
  type Misbehaviour,
  type SoftwareAuthenticator,
} from '@trestle/testing/software-authenticator.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerBehind } from '../../test/answer-behind.ts'
import { addApp, claimsOf } from '../../test/authenticator-app.ts'
import { claimsBody, errorBody, proof, sessionBody, signedUpBody } from '../../test/bodies.ts'
import { type FailingRequest, type Failure, expectFailure as failWith } from '../../test/expect-failure.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, signIn } from '../../test/signed-in.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({
    AUTH_DB_NAMESPACE: 'app',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_PASSKEY_ENABLED: 'true',
    AUTH_PASSKEY_MAX_PASSKEYS_PER_USER: '3',
    AUTH_WEBAUTHN_RP_ID: 'app.example.com',
    AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
    AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com, http://localhost:3000',
  })
})
afterAll(() => test.close())

type Headers = { readonly authorization: string }
const START = '/passkeys/registration/options'
const FINISH = '/passkeys/registration/verify'
const SIGN_IN = '/passkeys/authentication/options'
const SIGN_IN_FINISH = '/passkeys/authentication/verify'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/)
const REFUSED = [400, 'webauthn_verification_failed', 'WebAuthn response could not be verified'] as const
const NOT_FOUND = [400, 'webauthn_challenge_not_found', 'WebAuthn challenge not found'] as const
const EXPIRED = [400, 'webauthn_challenge_expired', 'WebAuthn challenge has expired, please start again'] as const
const TOO_MANY = [422, 'too_many_passkeys', 'Maximum number of passkeys reached, delete one to continue'] as const
const UNKNOWN = [404, 'webauthn_credential_not_found', 'Passkey not found'] as const
const NEEDS_AAL2 = [403, 'insufficient_aal', 'AAL2 session is required to manage passkeys when MFA is enabled'] as const

const fail = (request: FailingRequest, failure: Failure) => failWith(test, request, failure)
const start = async (headers: Headers) => (await test.post(START, {}, headers)).json()

async function register(headers: Headers, key: SoftwareAuthenticator, wrong: Misbehaviour = {}) {
  const { challenge_id, options } = await start(headers)
  return test.post(FINISH, { challenge_id, credential: key.create(options, wrong) }, headers)
}

async function signInBy(key: SoftwareAuthenticator, wrong: Misbehaviour = {}) {
  const { challenge_id, options } = (await test.post(SIGN_IN, {})).json()
  return test.post(SIGN_IN_FINISH, { challenge_id, credential: key.get(options, wrong) })
}

async function createWithPasskey() {
  const person = await createSignedIn(test)
  const key = createAuthenticator()
  const passkeyId: string = (await register(person.headers, key)).json().id
  return { ...person, key, passkeyId }
}

describe('POST /passkeys/registration', () => {
  it('200: asks for a discoverable credential and stores it', async () => {
    const { headers, email, user } = await createSignedIn(test)
    const asked = await test.post(START, {}, headers)
    const { challenge_id, options, expires_at } = asked.json()
    expect(expires_at).toBe(Math.floor(test.clock.now().getTime() / 1_000) + 300)
    expect(options).toEqual({
      challenge: expect.any(String),
      rp: { name: 'The App', id: 'app.example.com' },
      user: { id: expect.any(String), name: email, displayName: email },
      pubKeyCredParams: [
        { alg: -48, type: 'public-key' },
        { alg: -8, type: 'public-key' },
        { alg: -7, type: 'public-key' },
        { alg: -257, type: 'public-key' },
      ],
      timeout: 300000,
      attestation: 'none',
      excludeCredentials: [],
      authenticatorSelection: { residentKey: 'required', userVerification: 'preferred', requireResidentKey: true },
      extensions: { credProps: true },
      hints: [],
    })
    const key = createAuthenticator('http://localhost:3000')
    const credential = key.create(options)
    const answer = await test.post(FINISH, { challenge_id, credential }, headers)
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/)
    expect([answer.statusCode, answer.json()]).toEqual([200, { id, friendly_name: 'Passkey', created_at: timestamp }])
    expect((await start(headers)).options.excludeCredentials).toEqual([
      { id: credential.id, transports: ['internal'], type: 'public-key' },
    ])
    const query = test.deps.db.selectFrom('audit_log_entries').select('action').where('actor_id', '=', user.id)
    expect((await query.execute()).map(({ action }) => action)).toContain('passkey_created')
  })

  // ASVS 2.3.1
  it('400: refuses a used, expired or foreign challenge', async () => {
    const { headers } = await createSignedIn(test)
    const other = await createSignedIn(test)
    const key = createAuthenticator()
    const { challenge_id, options } = await start(headers)
    const payload = { challenge_id, credential: key.create(options) }
    await fail({ method: 'POST', url: FINISH, headers: other.headers, payload }, NOT_FOUND)
    const answers = await Promise.all(Array.from({ length: 5 }, () => test.post(FINISH, payload, headers)))
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400, 400, 400, 400])
    await fail({ method: 'POST', url: FINISH, headers, payload }, NOT_FOUND)
    await fail({ method: 'POST', url: FINISH, headers, payload: { ...payload, challenge_id: 'x' } }, NOT_FOUND)
    const late = await start(headers)
    test.clock.advance(300_000)
    const expired = await test.post(
      FINISH,
      { challenge_id: late.challenge_id, credential: payload.credential },
      headers,
    )
    expect(expired.json()).toEqual({ code: 400, error_code: EXPIRED[1], msg: EXPIRED[2] })
  })

  it.each<[string, Misbehaviour]>([
    ['another origin', { origin: 'https://evil.test' }],
    ['another relying party', { rpId: 'evil.test' }],
    ['another challenge', { challenge: 'AAAA' }],
    ['nobody at the authenticator', { userPresent: false }],
  ])('400: refuses %s', async (_, wrong) => {
    const { headers } = await createSignedIn(test)
    const answer = await register(headers, createAuthenticator(), wrong)
    expect(answer.json()).toEqual({ code: 400, error_code: REFUSED[1], msg: REFUSED[2] })
  })

  it('200 and 400: accepts a credential id of the longest length and refuses a longer id', async () => {
    const { headers } = await createSignedIn(test)
    expect((await register(headers, createAuthenticator(), { idBytes: 1_023 })).statusCode).toBe(200)
    for (const idBytes of [1_024, 3_000]) {
      const answer = await register(headers, createAuthenticator(), { idBytes })
      expect(answer.json()).toEqual({ code: 400, error_code: REFUSED[1], msg: REFUSED[2] })
    }
  })

  it('422: refuses a credential that is already registered', async () => {
    const { headers } = await createSignedIn(test)
    const other = await createSignedIn(test)
    const first = await start(headers)
    const second = await start(other.headers)
    const key = createAuthenticator()
    const credential = key.create(first.options)
    await test.post(FINISH, { challenge_id: first.challenge_id, credential }, headers)
    // The same key answers another user's challenge.
    const stolen = createAuthenticator()
    const forged = stolen.create(second.options)
    await test.deps.db
      .updateTable('webauthn_credentials')
      .set({ credential_id: forged.id })
      .where('credential_id', '=', credential.id)
      .execute()
    const answer = await test.post(FINISH, { challenge_id: second.challenge_id, credential: forged }, other.headers)
    expect([answer.statusCode, answer.json().error_code]).toEqual([422, 'webauthn_credential_exists'])
  })

  it('422: refuses a passkey over the limit of a user, also from parallel requests', async () => {
    const { headers } = await createSignedIn(test)
    const asked = await Promise.all(Array.from({ length: 6 }, () => start(headers)))
    const answers = await Promise.all(
      asked.map(({ challenge_id, options }) =>
        test.post(FINISH, { challenge_id, credential: createAuthenticator().create(options) }, headers),
      ),
    )
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 422, 422, 422])
    await fail({ method: 'POST', url: START, headers, payload: {} }, TOO_MANY)
  })

  it('403: refuses a user whose account is deleted meanwhile', async () => {
    const { headers, user } = await createSignedIn(test)
    const answer = await answerBehind(
      test.deps.db,
      (trx) => trx.deleteFrom('users').where('id', '=', user.id).execute(),
      () => test.post(START, {}, headers),
    )
    expect([answer.statusCode, answer.json().error_code]).toEqual([403, 'user_not_found'])
  })

  it('401 and 403: refuses a request without a session, an anonymous user and a session below aal2', async () => {
    const url = START
    await fail({ method: 'POST', url }, [401, 'no_authorization', 'This endpoint requires a valid Bearer token'])
    const { access_token } = (await test.post('/signup', {})).json()
    const anonymous = { authorization: `Bearer ${access_token}` }
    const refused = 'Anonymous user not allowed to perform these actions'
    await fail({ method: 'POST', url, headers: anonymous }, [403, 'no_authorization', refused])
    const person = await createSignedIn(test)
    const early = await start(person.headers)
    const { headers } = await addApp(test, person.headers)
    const later = await signIn(test, person)
    await fail({ method: 'POST', url, headers: later.headers }, NEEDS_AAL2)
    const payload = { challenge_id: early.challenge_id, credential: createAuthenticator().create(early.options) }
    await fail({ method: 'POST', url: FINISH, headers: later.headers, payload }, NEEDS_AAL2)
    expect((await test.post(FINISH, payload, headers)).statusCode).toBe(200)
  })
})

describe('POST /passkeys/authentication', () => {
  it('200: signs in the owner of the passkey', async () => {
    const { key, user, passkeyId, headers } = await createWithPasskey()
    const asked = (await test.post(SIGN_IN, {})).json()
    expect(asked.options).toEqual({
      rpId: 'app.example.com',
      challenge: expect.any(String),
      timeout: 300000,
      userVerification: 'preferred',
    })
    expect(asked.options.allowCredentials).toBeUndefined()
    const answer = await signInBy(key)
    expect(answer.json()).toEqual(sessionBody(signedUpBody({ user, email: user.email })))
    expect(claimsOf(answer.json().access_token)).toEqual(
      claimsBody({ sub: user.id, email: user.email, user_metadata: { name: 'Ann' }, amr: [proof('passkey')] }),
    )
    expect(answer.headers['cache-control']).toBe('no-store')
    const [listed] = (await test.app.inject({ url: '/passkeys', headers })).json()
    expect(listed).toEqual({ id: passkeyId, friendly_name: 'Passkey', created_at: timestamp, last_used_at: timestamp })
    const query = test.deps.db.selectFrom('audit_log_entries').select('payload').where('actor_id', '=', user.id)
    expect((await query.execute()).map(({ payload }) => payload.traits)).toContainEqual({ provider: 'passkey' })
  })

  it.each<[string, Misbehaviour]>([
    ['another origin', { origin: 'https://evil.test' }],
    ['another relying party', { rpId: 'evil.test' }],
    ['another challenge', { challenge: 'AAAA' }],
    ['nobody at the authenticator', { userPresent: false }],
    ['nobody as its owner', { userHandle: '' }],
    ['somebody else as its owner', { userHandle: 'AAAAAAAAQACAAAAAAAAAAA' }],
  ])('400: refuses %s', async (_, wrong) => {
    const { key } = await createWithPasskey()
    expect((await signInBy(key, wrong)).json()).toEqual({ code: 400, error_code: REFUSED[1], msg: REFUSED[2] })
  })

  it('400: refuses an old counter, an unknown passkey and a deleted passkey', async () => {
    const { key, passkeyId, headers } = await createWithPasskey()
    expect((await signInBy(key)).statusCode).toBe(200)
    expect((await signInBy(key, { counter: 1 })).json().error_code).toBe(REFUSED[1])
    const stranger = createAuthenticator()
    stranger.create({ challenge: 'AAAA', rp: { id: 'app.example.com' } })
    expect((await signInBy(stranger)).json()).toEqual({ code: 400, error_code: REFUSED[1], msg: REFUSED[2] })
    await test.app.inject({ method: 'DELETE', url: `/passkeys/${passkeyId}`, headers })
    expect((await signInBy(key)).json().error_code).toBe(REFUSED[1])
  })

  it('400: accepts one of many parallel answers with the same counter, since the others come from a copy', async () => {
    const { key } = await createWithPasskey()
    const asked = await Promise.all(Array.from({ length: 10 }, async () => (await test.post(SIGN_IN, {})).json()))
    const answers = await Promise.all(
      asked.map(({ challenge_id, options }) =>
        test.post(SIGN_IN_FINISH, { challenge_id, credential: key.get(options, { counter: 7 }) }),
      ),
    )
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, ...Array(9).fill(400)])
  })

  it('200: accepts an authenticator whose counter stays 0', async () => {
    const { key } = await createWithPasskey()
    for (const counter of [0, 0]) expect((await signInBy(key, { counter })).statusCode).toBe(200)
  })

  it('400: refuses a used challenge, an expired challenge and that of a registration', async () => {
    const { key, headers } = await createWithPasskey()
    const { challenge_id, options } = (await test.post(SIGN_IN, {})).json()
    const payload = { challenge_id, credential: key.get(options) }
    const answers = await Promise.all(Array.from({ length: 5 }, () => test.post(SIGN_IN_FINISH, payload)))
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 400, 400, 400, 400])
    const own = await start(headers)
    const crossed = { challenge_id: own.challenge_id, credential: key.get(own.options) }
    await fail({ method: 'POST', url: SIGN_IN_FINISH, payload: crossed }, NOT_FOUND)
    const late = (await test.post(SIGN_IN, {})).json()
    test.clock.advance(300_000)
    const expired = await test.post(SIGN_IN_FINISH, {
      challenge_id: late.challenge_id,
      credential: key.get(late.options),
    })
    expect(expired.json().error_code).toBe(EXPIRED[1])
  })

  it('403: refuses a banned user', async () => {
    const { key, user } = await createWithPasskey()
    const banned_until = new Date('2100-01-01')
    await test.deps.db.updateTable('users').set({ banned_until }).where('id', '=', user.id).execute()
    expect((await signInBy(key)).json()).toEqual({ code: 403, error_code: 'user_banned', msg: 'User is banned' })
  })
})

describe('/passkeys/{passkey_id}', () => {
  it('200 and 204: renames and deletes a passkey', async () => {
    const { headers, passkeyId } = await createWithPasskey()
    const url = `/passkeys/${passkeyId}`
    const renamed = await test.app.inject({ method: 'PATCH', url, headers, payload: { friendly_name: 'Laptop' } })
    expect(renamed.json()).toEqual({ id: passkeyId, friendly_name: 'Laptop', created_at: timestamp })
    const deleted = await test.app.inject({ method: 'DELETE', url, headers })
    expect([deleted.statusCode, deleted.body]).toEqual([204, ''])
    expect((await test.app.inject({ url: '/passkeys', headers })).json()).toEqual([])
  })

  it('400, 403 and 404: refuses an empty name, a session below aal2 and a passkey of another user', async () => {
    const person = await createWithPasskey()
    const other = await createSignedIn(test)
    const url = `/passkeys/${person.passkeyId}`
    const rename = (payload: object, headers: Headers) =>
      test.app.inject({ method: 'PATCH', url, headers, payload }).then((answer) => answer.json())
    expect(await rename({}, person.headers)).toEqual(
      errorBody(400, 'validation_failed', 'friendly_name may not be empty'),
    )
    expect(await rename({ friendly_name: 'x'.repeat(121) }, person.headers)).toEqual(
      errorBody(400, 'validation_failed', 'friendly_name may not be longer than 120 characters'),
    )
    expect(await rename({ friendly_name: 'mine' }, other.headers)).toEqual(
      errorBody(404, UNKNOWN[1], 'Passkey not found'),
    )
    await fail({ method: 'DELETE', url, headers: other.headers }, UNKNOWN)
    await fail({ method: 'DELETE', url: `/passkeys/${randomUUID()}`, headers: other.headers }, UNKNOWN)
    const malformed = [404, 'validation_failed', 'passkey_id must be an UUID'] as const
    await fail({ method: 'DELETE', url: '/passkeys/x', headers: other.headers }, malformed)
    await addApp(test, person.headers)
    const later = await signIn(test, person)
    await fail({ method: 'DELETE', url, headers: later.headers }, NEEDS_AAL2)
    expect(await rename({ friendly_name: 'mine' }, later.headers)).toEqual(
      errorBody(403, 'insufficient_aal', 'AAL2 session is required to manage passkeys when MFA is enabled'),
    )
  })
})

describe('/admin/users/{user_id}/passkeys', () => {
  it('200 and 204: lists and deletes the passkeys of a user', async () => {
    const { key, user, passkeyId } = await createWithPasskey()
    const url = `/admin/users/${user.id}/passkeys`
    const listed = await test.app.inject({ url, headers: OPERATOR })
    expect(listed.json()).toEqual([{ id: passkeyId, friendly_name: 'Passkey', created_at: timestamp }])
    const deleted = await test.app.inject({ method: 'DELETE', url: `${url}/${passkeyId}`, headers: OPERATOR })
    expect([deleted.statusCode, deleted.body]).toEqual([204, ''])
    expect((await signInBy(key)).statusCode).toBe(400)
    await fail({ method: 'DELETE', url: `${url}/${passkeyId}`, headers: OPERATOR }, UNKNOWN)
    const nobody = { url: `/admin/users/${randomUUID()}/passkeys`, headers: OPERATOR } as const
    await fail({ method: 'GET', ...nobody }, [404, 'user_not_found', 'User not found'])
  })

  it('200: a soft deletion removes the passkeys of a user', async () => {
    const { key, user } = await createWithPasskey()
    const payload = { should_soft_delete: true }
    await test.app.inject({ method: 'DELETE', url: `/admin/users/${user.id}`, headers: OPERATOR, payload })
    expect((await signInBy(key)).json().error_code).toBe(REFUSED[1])
  })
})
