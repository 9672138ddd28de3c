import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import {
  amrEntry,
  anyTime,
  claimsBody,
  emailIdentity,
  grantErrorBody,
  signedUpBody,
  wrongPassword,
} from '../../test/bodies.ts'
import { factorRow } from '../../test/factor-row.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { createSignedUp, type SignedUp } from '../../test/signed-up.ts'
import { deriveChildToken } from '../sessions/session.ts'

let test: TestApp
let logFields: unknown
beforeAll(async () => {
  test = await openTestApp({
    settings: {
      AUTH_JWT_ALLOWED_AUDIENCES: 'elsewhere',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      // One trusted proxy. The requests have no `X-Real-Ip` header, so the request limits do not count them.
      AUTH_TRUSTED_PROXIES: '1',
      AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
    },
  })
  test.app.addHook('onResponse', async (request) => {
    logFields = request.logFields
  })
})
afterAll(() => test.close())

const VERSIONED = { 'x-supabase-api-version': '2024-01-01' }

type Body = Readonly<Record<string, unknown>>

async function ask(grant: string, payload: Body | string, headers: Record<string, string> = {}, { app } = test) {
  const url = `/token${grant === '' ? '' : `?grant_type=${grant}`}`
  const answer = await app.inject({
    method: 'POST',
    url,
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}

/** The two forms of the body of an error of `/token`. */
const failure = (status: number, code: string, text: string, error: string) => ({
  status,
  plain: { code: status, error_code: code, msg: text, error, error_description: text },
  versioned: { code, message: text, error, error_description: text },
})

async function expectFailure(grant: string, payload: Body | string, expected: ReturnType<typeof failure>, on = test) {
  const plain = await ask(grant, payload, {}, on)
  expect({ status: plain.status, body: plain.body }).toEqual({ status: expected.status, body: expected.plain })
  const versioned = await ask(grant, payload, VERSIONED, on)
  expect({ status: versioned.status, body: versioned.body }).toEqual({
    status: expected.status,
    body: expected.versioned,
  })
  expect(versioned.headers['x-supabase-api-version']).toBe('2024-01-01')
}

const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

function sessionOf({ user, email }: SignedUp) {
  return {
    access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    token_type: 'bearer',
    expires_in: 3600,
    expires_at: Math.floor(test.clock.now().getTime() / 1_000) + 3600,
    refresh_token: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/),
    user: {
      id: user.id,
      aud: 'authenticated',
      role: 'authenticated',
      email,
      email_confirmed_at: '2026-01-01T00:00:00.000001+00:00',
      phone: '',
      confirmation_sent_at: '2026-01-01T00:00:00.000000+00:00',
      confirmed_at: '2026-01-01T00:00:00.000001+00:00',
      last_sign_in_at: anyTime,
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: { name: 'Ann' },
      identities: [emailIdentity(user.id, email, { email_verified: true })],
      created_at: user.createdAt,
      updated_at: anyTime,
      is_anonymous: false,
    },
  }
}

describe('POST /token', () => {
  it.each(['', 'client_credentials', 'Password'])('400: refuses the grant %j', async (grant) => {
    await expectFailure(
      grant,
      {},
      failure(400, 'invalid_credentials', 'unsupported_grant_type', 'unsupported_grant_type'),
    )
  })

  // ASVS 16.3.1
  it('400: keeps an unknown grant out of the log', async () => {
    const unknown = 'unsupported_grant_type'
    const { status, body } = await ask('a password put into the wrong place', {})
    expect([status, body, logFields]).toEqual([
      400,
      failure(400, 'invalid_credentials', unknown, unknown).plain,
      { remote_addr: '127.0.0.1' },
    ])
  })

  it('422: refuses the grant web3, which the log names', async () => {
    const text = 'Web3 provider is disabled'
    await expectFailure('web3', {}, failure(422, 'web3_provider_disabled', text, 'unauthorized_client'))
    expect(logFields).toEqual({ remote_addr: '127.0.0.1', grant_type: 'web3' })
  })

  it.each([
    ['{', 'the body is not JSON from character 2 on'],
    ['[]', 'the body is not an object'],
    ['{"email":5}', 'email: must be a string'],
    ['', 'the body is empty'],
  ])('400: refuses the body %j', async (payload, reason) => {
    const text = `Could not parse request body as JSON: ${reason}`
    const { status, body } = await ask('password', payload)
    expect([status, body]).toEqual([400, grantErrorBody('invalid_request', 'bad_json', text)])
  })

  it('200: reads the grant from a form body', async () => {
    const signedUp = await createSignedUp(test.deps)
    const payload = new URLSearchParams({ grant_type: 'password', email: signedUp.email, password: signedUp.password })
    const { status, body } = await ask('', payload.toString(), { 'content-type': 'application/x-www-form-urlencoded' })
    expect({ status, body }).toEqual({ status: 200, body: sessionOf(signedUp) })
  })
})

describe('POST /token?grant_type=password', () => {
  // ASVS 14.2.2, 14.3.2
  it('200: signs in and writes user and method into the access token', async () => {
    const signedUp = await createSignedUp(test.deps)
    const { email, password } = signedUp
    const { status, body, headers } = await ask('password', { email: email.toUpperCase(), password })
    expect({ status, body }).toEqual({ status: 200, body: sessionOf(signedUp) })
    expect(Object.keys(body)).toEqual(Object.keys(sessionOf(signedUp)))
    expect(Object.keys(body.user)).toEqual(Object.keys(sessionOf(signedUp).user))
    expect([
      headers['cache-control'],
      headers.pragma,
      headers['content-type'],
      headers['x-content-type-options'],
      headers['x-request-id'],
    ]).toEqual(['no-store', 'no-cache', 'application/json; charset=utf-8', 'nosniff', expect.any(String)])
    const issuedAt = Math.floor(test.clock.now().getTime() / 1_000)
    const claims = claimsOf(body.access_token)
    expect(claims).toEqual(
      claimsBody({
        sub: signedUp.user.id,
        iat: issuedAt,
        exp: issuedAt + 3600,
        email,
        user_metadata: { name: 'Ann' },
        amr: [amrEntry('password')],
      }),
    )
  })

  it.each(['fe80::1%eth0', 'unknown, ::ffff:1.2.3.4', '2001:DB8::1', '1.2.3'])(
    '200: ignores a malformed X-Forwarded-For: %s',
    async (address) => {
      const signedUp = await createSignedUp(test.deps)
      const { email, password } = signedUp
      const headers = { 'x-forwarded-for': address }
      const { status, body } = await ask('password', { email, password }, headers)
      expect([status, body]).toEqual([200, sessionOf(signedUp)])
      const refreshed = await ask('refresh_token', { refresh_token: body.refresh_token }, headers)
      expect([refreshed.status, refreshed.body]).toEqual([200, sessionOf(signedUp)])
    },
  )

  it('200: signs in by a phone number in any notation', async () => {
    const signedUp = await createSignedUp(test.deps, { phone: '14155550100', phone_confirmed_at: new Date() })
    const { status, body } = await ask('password', { phone: '+1 415 555 0100', password: signedUp.password })
    expect(status).toBe(200)
    expect(body.user).toEqual(
      signedUpBody(signedUp, { phone: '14155550100', phone_confirmed_at: anyTime, last_sign_in_at: anyTime }),
    )
  })

  it('200: signs in with a password that no longer meets the policy and names what it lacks', async () => {
    const strict = await openTestApp({ database: test.database, settings: { AUTH_PASSWORD_MIN_LENGTH: '40' } })
    const signedUp = await createSignedUp(strict.deps)
    const { status, body } = await ask('password', { email: signedUp.email, password: signedUp.password }, {}, strict)
    const weak_password = { message: 'Password should be at least 40 characters.', reasons: ['length'] }
    expect([status, body]).toEqual([200, { ...sessionOf(signedUp), expires_at: expect.any(Number), weak_password }])
    await strict.close()
  })

  it('400: refuses both or neither of email and phone, and a malformed number', async () => {
    const both = 'Only an email address or phone number should be provided on login.'
    await expectFailure(
      'password',
      { email: 'a@example.com', phone: '14155550100', password: 'x' },
      failure(400, 'validation_failed', both, 'invalid_request'),
    )
    await expectFailure(
      'password',
      { password: 'x', email: null },
      failure(400, 'validation_failed', 'missing email or phone', 'invalid_request'),
    )
    await expectFailure(
      'password',
      { phone: 'my number', password: 'x' },
      failure(400, 'validation_failed', 'Invalid phone number format (E.164 required)', 'invalid_request'),
    )
  })

  it('422: refuses a method that is switched off', async () => {
    const off = await openTestApp({ database: test.database, settings: { AUTH_EXTERNAL_EMAIL_ENABLED: 'false' } })
    const email = failure(422, 'email_provider_disabled', 'Email logins are disabled', 'unauthorized_client')
    const phone = failure(422, 'phone_provider_disabled', 'Phone logins are disabled', 'unauthorized_client')
    await expectFailure('password', { email: 'a@example.com', password: 'x' }, email, off)
    await expectFailure('password', { phone: '14155550100', password: 'x' }, phone, off)
    await off.close()
  })

  it('400: reveals a ban or a missing confirmation only with the right password', async () => {
    const wrong = failure(400, 'invalid_credentials', 'Invalid login credentials', 'invalid_grant')
    const until = new Date(Date.now() + 60_000)
    const banned = await createSignedUp(test.deps, { banned_until: until, email_confirmed_at: null })
    const unconfirmed = await createSignedUp(test.deps, { email_confirmed_at: null })
    const byPhone = await createSignedUp(test.deps, { phone: '14155550199' })
    for (const { email } of [banned, unconfirmed]) await expectFailure('password', { email, password: 'guess' }, wrong)
    const right = ({ email, password }: SignedUp) => ({ email, password })
    await expectFailure('password', right(banned), failure(400, 'user_banned', 'User is banned', 'invalid_grant'))
    await expectFailure(
      'password',
      right(unconfirmed),
      failure(400, 'email_not_confirmed', 'Email not confirmed', 'invalid_grant'),
    )
    await expectFailure(
      'password',
      { phone: '14155550199', password: byPhone.password },
      failure(400, 'phone_not_confirmed', 'Phone not confirmed', 'invalid_grant'),
    )
  })

  it('400: refuses a user of another audience', async () => {
    const signedUp = await createSignedUp(test.deps)
    const { email, password } = signedUp
    const { status, body } = await ask('password', { email, password }, { 'x-jwt-aud': 'elsewhere' })
    expect([status, body]).toEqual(wrongPassword)
    const own = await ask('password', { email, password }, { 'x-jwt-aud': 'authenticated' })
    expect([own.status, own.body]).toEqual([200, sessionOf(signedUp)])
  })
})

describe('POST /token?grant_type=refresh_token', () => {
  const refresh = (refresh_token: unknown, on = test) => ask('refresh_token', { refresh_token }, {}, on)
  async function signIn(on = test) {
    const signedUp = await createSignedUp(on.deps)
    const { body } = await ask('password', { email: signedUp.email, password: signedUp.password }, {}, on)
    return { signedUp, token: String(body.refresh_token), sessionId: String(claimsOf(body.access_token).session_id) }
  }
  const alreadyUsed = failure(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used', 'invalid_grant')
  const notFound = failure(
    400,
    'refresh_token_not_found',
    'Invalid Refresh Token: Refresh Token Not Found',
    'invalid_grant',
  )

  it('200: returns the next refresh token and a new access token of the same session', async () => {
    const { signedUp, token, sessionId } = await signIn()
    test.clock.advance(60_000)
    const { status, body } = await refresh(token)
    expect({ status, body }).toEqual({ status: 200, body: sessionOf(signedUp) })
    expect(body.refresh_token).toBe(deriveChildToken(test.deps.refreshTokenKey, token))
    expect(claimsOf(body.access_token)).toEqual(
      claimsBody({
        sub: signedUp.user.id,
        email: signedUp.email,
        user_metadata: { name: 'Ann' },
        amr: [amrEntry('password')],
        session_id: sessionId,
      }),
    )
  })

  it('200: says in the access token that nobody has confirmed a new address', async () => {
    const { signedUp, token } = await signIn()
    const email = `new-${signedUp.email}`
    const change = await test.app.inject({
      method: 'PUT',
      url: `/admin/users/${signedUp.user.id}`,
      headers: OPERATOR,
      payload: { email },
    })
    expect(change.statusCode).toBe(200)
    const { status, body } = await refresh(token)
    expect(status).toBe(200)
    expect(claimsOf(body.access_token)).toEqual(
      claimsBody({
        sub: signedUp.user.id,
        email,
        email_verified: false,
        user_metadata: { name: 'Ann' },
        amr: [amrEntry('password')],
      }),
    )
  })

  it('200: twenty parallel refreshes of one token return the same next token', async () => {
    const { token, sessionId } = await signIn()
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(token)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body.refresh_token))).toEqual(
      new Set([deriveChildToken(test.deps.refreshTokenKey, token)]),
    )
    const rows = await test.deps.db
      .selectFrom('refresh_tokens')
      .select('id')
      .where('session_id', '=', sessionId)
      .execute()
    expect(rows).toHaveLength(2)
  })

  // ASVS 10.4.5
  it('400: refuses a replayed older token and ends its session', async () => {
    const { token } = await signIn()
    const child = (await refresh(token)).body.refresh_token
    const grandchild = (await refresh(child)).body.refresh_token
    await expectFailure('refresh_token', { refresh_token: token }, alreadyUsed)
    await expectFailure('refresh_token', { refresh_token: grandchild }, alreadyUsed)
  })

  it('400: refuses the parent of the newest token once a theft has ended the session', async () => {
    const { token } = await signIn()
    const parent = (await refresh(token)).body.refresh_token
    await refresh(parent)
    await expectFailure('refresh_token', { refresh_token: token }, alreadyUsed)
    await expectFailure('refresh_token', { refresh_token: parent }, alreadyUsed)
  })

  it('400: refuses reuse within the interval while rotation is off, and keeps the session', async () => {
    const settings = { AUTH_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: 'false' }
    const off = await openTestApp({ database: test.database, settings })
    const { token, signedUp } = await signIn(off)
    const child = (await refresh(token, off)).body.refresh_token
    await expectFailure('refresh_token', { refresh_token: token }, alreadyUsed, off)
    expect((await refresh(child, off)).body).toEqual({ ...sessionOf(signedUp), expires_at: expect.any(Number) })
    await off.close()
  })

  it('200: a new JWT_SECRET replaces the stored next token', async () => {
    const { token, sessionId, signedUp } = await signIn()
    const before = (await refresh(token)).body
    const { deriveRefreshTokenKey } = await import('../sessions/session.ts')
    const { grantRefreshToken } = await import('../use-cases/grant-refresh-token.ts')
    const changed = { ...test.deps, refreshTokenKey: deriveRefreshTokenKey('another secret') }
    const { session: after } = await grantRefreshToken(changed, { refreshToken: token, userAgent: null, ip: '' })
    expect(after.refresh_token).not.toBe(before.refresh_token)
    await expectFailure('refresh_token', { refresh_token: before.refresh_token }, notFound)
    const { status, body } = await refresh(after.refresh_token)
    expect([status, body]).toEqual([200, sessionOf(signedUp)])
    const rows = await test.deps.db
      .selectFrom('refresh_tokens')
      .select('id')
      .where('session_id', '=', sessionId)
      .execute()
    expect(rows).toHaveLength(3)
  })

  it.each(['', 'short', 'x'.repeat(11), 'abc def ghi jkl', 'ünïcödé_tökén', undefined])(
    '400: refuses the malformed refresh token %j',
    async (token) => {
      const expected = failure(400, 'validation_failed', 'Refresh token is not valid', 'invalid_request')
      await expectFailure('refresh_token', { refresh_token: token }, expected)
    },
  )

  it('400: refuses a refresh token that no session has', async () => {
    await expectFailure('refresh_token', { refresh_token: 'x'.repeat(32) }, notFound)
  })

  it('400: refuses a banned user', async () => {
    const { signedUp, token } = await signIn()
    await test.deps.db
      .updateTable('users')
      .set({ banned_until: new Date(Date.now() + 60_000) })
      .where('id', '=', signedUp.user.id)
      .execute()
    await expectFailure(
      'refresh_token',
      { refresh_token: token },
      failure(400, 'user_banned', 'Invalid Refresh Token: User Banned', 'invalid_grant'),
    )
  })

  // ASVS 7.3.1, 7.3.2, 10.4.8
  it('400: refuses sessions past their limits, each with its reason', async () => {
    const limited = await openTestApp({
      database: test.database,
      settings: {
        AUTH_SESSIONS_TIMEBOX: '1h',
        AUTH_SESSIONS_INACTIVITY_TIMEOUT: '30m',
        AUTH_SESSIONS_SINGLE_PER_USER: 'true',
      },
    })
    const expired = 'Invalid Refresh Token: Session Expired'
    const makeOlder = (sessionId: string, minutes: number) =>
      limited.deps.db
        .updateTable('sessions')
        .set({ created_at: new Date(Date.now() - minutes * 60_000) })
        .where('id', '=', sessionId)
        .execute()
    const { token, sessionId, signedUp } = await signIn(limited)
    await makeOlder(sessionId, 61)
    await expectFailure(
      'refresh_token',
      { refresh_token: token },
      failure(400, 'session_expired', expired, 'invalid_grant'),
      limited,
    )
    await makeOlder(sessionId, 31)
    await expectFailure(
      'refresh_token',
      { refresh_token: token },
      failure(400, 'session_expired', `${expired} (Inactivity)`, 'invalid_grant'),
      limited,
    )
    await makeOlder(sessionId, 10)
    await ask('password', { email: signedUp.email, password: signedUp.password }, {}, limited)
    await expectFailure(
      'refresh_token',
      { refresh_token: token },
      failure(400, 'session_expired', `${expired} (Revoked by Newer Login)`, 'invalid_grant'),
      limited,
    )
    await limited.close()
  })

  it('400: refuses a session of aal1 past its shorter limit when its user has a second factor', async () => {
    const low = await openTestApp({ database: test.database, settings: { AUTH_SESSIONS_ALLOW_LOW_AAL: '10m' } })
    const { signedUp, token, sessionId } = await signIn(low)
    const factor = { user_id: signedUp.user.id, factor_type: 'totp', status: 'verified' }
    await low.deps.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
    const startedAt = new Date(Date.now() - 11 * 60_000)
    await low.deps.db.updateTable('sessions').set({ created_at: startedAt }).where('id', '=', sessionId).execute()
    const expired = 'Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)'
    await expectFailure(
      'refresh_token',
      { refresh_token: token },
      failure(400, 'session_expired', expired, 'invalid_grant'),
      low,
    )
    await low.close()
  })
})
