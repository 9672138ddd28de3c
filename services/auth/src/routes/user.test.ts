import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import { anyTime, emailIdentity, signedUpBody, userBody } from '../../test/bodies.ts'
import { expectUser } from '../../test/expect-user.ts'
import { factorRow } from '../../test/factor-row.ts'
import { createSignedUp } from '../../test/signed-up.ts'

let test: TestApp
beforeAll(async () => {
  test = await openTestApp()
})
afterAll(() => test.close())

async function signIn(on = test) {
  const signedUp = await createSignedUp(on.deps)
  const payload = { email: signedUp.email, password: signedUp.password }
  const answer = await on.app.inject({ method: 'POST', url: '/token?grant_type=password', payload })
  const { access_token: token, user } = answer.json()
  return { ...signedUp, token: String(token), record: user }
}

async function getUser(authorization: string | undefined, headers: Record<string, string> = {}, on = test) {
  const answer = await on.app.inject({
    method: 'GET',
    url: '/user',
    headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
  })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}

type Failure = readonly [status: number, code: string, text: string]

async function expectFailure(authorization: string | undefined, [status, code, text]: Failure, on = test) {
  const plain = await getUser(authorization, {}, on)
  expect({ status: plain.status, body: plain.body }).toEqual({
    status,
    body: { code: status, error_code: code, msg: text },
  })
  const versioned = await getUser(authorization, { 'x-supabase-api-version': '2024-01-01' }, on)
  expect({ status: versioned.status, body: versioned.body }).toEqual({ status, body: { code, message: text } })
}

/** Returns a token with any claims, signed with the secret of the tests. */
function forge(claims: Readonly<Record<string, unknown>>): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const data = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  const mac = createHmac('sha256', 'a secret of at least 32 bytes, for tests').update(data).digest('base64url')
  return `Bearer ${data}.${mac}`
}

describe('GET /user', () => {
  it('200: returns the record of the session', async () => {
    const { token, record, ...signedUp } = await signIn()
    const { status, body, headers } = await getUser(`Bearer ${token}`)
    expect({ status, body }).toEqual({ status: 200, body: signedUpBody(signedUp, { last_sign_in_at: anyTime }) })
    expect(JSON.stringify(body)).toBe(JSON.stringify(record))
    expect([headers['cache-control'], headers.pragma, headers['content-type']]).toEqual([
      'no-store',
      'no-cache',
      'application/json; charset=utf-8',
    ])
    expect(JSON.stringify(body)).not.toMatch(/argon2|password/)
  })

  // ASVS 15.3.1
  it('200: lists second factors without their secrets', async () => {
    const { token, user } = await signIn()
    const factor = { user_id: user.id, factor_type: 'phone', phone: '14155550100', friendly_name: 'mine' }
    await test.deps.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
    const { status, body } = await getUser(`Bearer ${token}`)
    expect(status).toBe(200)
    expect(body.factors).toEqual([
      {
        id: expect.any(String),
        created_at: expect.stringMatching(/\.\d{6}\+00:00$/),
        updated_at: expect.stringMatching(/\.\d{6}\+00:00$/),
        status: 'unverified',
        friendly_name: 'mine',
        factor_type: 'phone',
        phone: '14155550100',
        last_challenged_at: null,
      },
    ])
  })

  it('200: accepts a trailing slash and the scheme in any case', async () => {
    const { token, ...signedUp } = await signIn()
    const answer = await test.app.inject({ url: '/user/', headers: { authorization: `bEARER ${token}` } })
    expectUser(answer, signedUpBody(signedUp, { last_sign_in_at: anyTime }))
  })

  it('401: refuses a request without an access token', async () => {
    const text = 'This endpoint requires a valid Bearer token'
    for (const header of [undefined, '', 'Basic eA==', 'Bearer', 'Bearer a b']) {
      await expectFailure(header, [401, 'no_authorization', text])
    }
  })

  it('403: refuses an invalid or expired token', async () => {
    const start = 'invalid JWT: unable to parse or verify signature, '
    const { token, user } = await signIn()
    await expectFailure('Bearer x', [
      403,
      'bad_jwt',
      `${start}token is malformed: token contains an invalid number of segments`,
    ])
    await expectFailure(`Bearer ${token}A`, [
      403,
      'bad_jwt',
      `${start}token signature is invalid: signature is invalid`,
    ])
    const exp = Math.floor(test.clock.now().getTime() / 1_000)
    const expired = forge({ sub: user.id, aud: 'authenticated', exp })
    await expectFailure(expired, [403, 'bad_jwt', `${start}token has invalid claims: token is expired`])
  })

  // ASVS 10.3.3
  it('200: returns the user of the session, although another user has their former address', async () => {
    const { token, user, email } = await signIn()
    const moved = { email: `moved.${email}` }
    await test.deps.db.updateTable('users').set(moved).where('id', '=', user.id).execute()
    await createSignedUp(test.deps, { email })
    const { status, body } = await getUser(`Bearer ${token}`)
    expect(status).toBe(200)
    expect(body).toEqual(
      userBody({
        ...moved,
        id: user.id,
        email_confirmed_at: anyTime,
        confirmation_sent_at: anyTime,
        confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { name: 'Ann' },
        identities: [emailIdentity(user.id, email, { email_verified: true })],
      }),
    )
  })

  // ASVS 10.3.3
  it('400: refuses claims whose user is no UUID', async () => {
    await expectFailure(forge({ sub: 'me' }), [400, 'bad_jwt', 'invalid claim: sub claim must be a UUID'])
  })

  // ASVS 10.3.3
  it('403: refuses claims without a user, and claims whose session is no UUID', async () => {
    const { user } = await signIn()
    await expectFailure(forge({ role: 'service_role' }), [403, 'bad_jwt', 'invalid claim: missing sub claim'])
    await expectFailure(forge({ sub: user.id, session_id: 'x' }), [
      403,
      'bad_jwt',
      'invalid claim: session_id claim must be a UUID',
    ])
  })

  // ASVS 7.4.2
  it('403: refuses a deleted user', async () => {
    const { token, user } = await signIn()
    const other = await signIn()
    const text = 'User from sub claim in JWT does not exist'
    await test.deps.db.updateTable('users').set({ deleted_at: new Date() }).where('id', '=', user.id).execute()
    await expectFailure(`Bearer ${token}`, [403, 'user_not_found', text])
    await test.deps.db.deleteFrom('users').where('id', '=', other.user.id).execute()
    await expectFailure(`Bearer ${other.token}`, [403, 'user_not_found', text])
  })

  // ASVS 7.4.2
  it('403: refuses a banned user until the ban ends', async () => {
    const { token, user } = await signIn()
    const ban = (until: Date) =>
      test.deps.db.updateTable('users').set({ banned_until: until }).where('id', '=', user.id).execute()
    await ban(new Date(Date.now() + 60_000))
    await expectFailure(`Bearer ${token}`, [403, 'user_banned', 'User is banned'])
    await ban(new Date(Date.now() - 1))
    expect((await getUser(`Bearer ${token}`)).status).toBe(200)
  })

  // ASVS 8.4.1, 9.2.4, 10.3.1
  it('400: refuses a token of another audience than that of the request or the user', async () => {
    const { token, user } = await signIn()
    const text = "Token audience doesn't match request audience"
    const { status, body } = await getUser(`Bearer ${token}`, { 'x-jwt-aud': 'elsewhere' })
    expect({ status, body }).toEqual({ status: 400, body: { code: 400, error_code: 'validation_failed', msg: text } })
    await expectFailure(forge({ sub: user.id }), [400, 'validation_failed', text])
    await expectFailure(forge({ sub: user.id, aud: 'elsewhere' }), [400, 'validation_failed', text])
  })

  it('403: refuses an ended session only when the setting enforces it', async () => {
    const enforced = await openTestApp({ settings: { AUTH_SESSIONS_ENFORCE_ON_ACCESS_TOKEN: 'true' } })
    for (const on of [test, enforced]) {
      const { token, user } = await signIn(on)
      expect((await getUser(`Bearer ${token}`, {}, on)).status).toBe(200)
      await on.deps.db.deleteFrom('sessions').where('user_id', '=', user.id).execute()
      if (on === test) expect((await getUser(`Bearer ${token}`)).status).toBe(200)
      else {
        const text = 'Session from session_id claim in JWT does not exist'
        await expectFailure(`Bearer ${token}`, [403, 'session_not_found', text], on)
        expect((await getUser(forge({ sub: user.id, aud: 'authenticated' }), {}, on)).status).toBe(200)
      }
    }
    await enforced.close()
  })
})
