import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerBehind } from '../../test/answer-behind.ts'
import {
  anyTime,
  errorBody,
  factorBody,
  grantErrorBody,
  outcomeOf,
  refusalsIn,
  signedUpBody,
  statusAndBody,
  userBody,
  wrongPassword,
} from '../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../test/expect-failure.ts'
import { expectSession } from '../../test/expect-user.ts'
import { factorRow } from '../../test/factor-row.ts'
import { forgeBearer, OPERATOR } from '../../test/forged-token.ts'
import { type MailApp, openBeside, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, type SignedIn, signIn } from '../../test/signed-in.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED: 'true',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  })
})
afterAll(() => test.close())

type Headers = Readonly<Record<string, string>>

async function put(payload: object, headers: Headers) {
  const answer = await test.app.inject({ method: 'PUT', url: '/user', headers, payload })
  return { status: answer.statusCode, body: answer.json() }
}

const expectFailure = (payload: object | undefined, headers: Headers, failure: Failure) =>
  failWith(test, { method: 'PUT', url: '/user', headers, ...(payload ? { payload } : {}) }, failure)

const refresh = async ({ refreshToken }: SignedIn) =>
  outcomeOf(await test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken }))

async function auditOf(userId: string) {
  const query = test.deps.db.selectFrom('audit_log_entries').select('action').where('actor_id', '=', userId)
  return (await query.orderBy('id').execute()).map(({ action }) => action)
}

describe('PUT /user', () => {
  it('200: merges data key by key, and null deletes a key', async () => {
    const { headers, record, user } = await createSignedIn(test)
    const { status, body } = await put({ data: { name: null, nick: 'a', list: [1, null] } }, headers)
    const at = '2026-01-02T03:04:05.678000+00:00'
    const user_metadata = { nick: 'a', list: [1, null] }
    expect({ status, body }).toEqual({ status: 200, body: { ...record, user_metadata, updated_at: at } })
    expect((await put({}, headers)).body).toEqual(body)
    expect((await put({ email: user.email, phone: '', password: '' }, headers)).body).toEqual(body)
    expect(await auditOf(user.id)).toEqual(['login', 'user_modified', 'user_modified', 'user_modified'])
  })

  // ASVS 1.2.3, 1.2.4
  it('200: returns data exactly as they were sent', async () => {
    const { user, email, headers } = await createSignedIn(test)
    const data = {
      name: 'a"}],',
      'a"}]': '","role":"admin',
      b: "'; DROP TABLE users; --",
      c: '\u2028</script>\\\n',
      d: '$1 {{users}} %s',
    }
    const changed = signedUpBody({ user, email }, { user_metadata: data, last_sign_in_at: anyTime })
    expect(await put({ data }, headers)).toEqual({ status: 200, body: changed })
  })

  it('200: parallel changes of different keys lose none', async () => {
    const { headers } = await createSignedIn(test)
    const changes = await Promise.all(Array.from({ length: 10 }, (_, i) => put({ data: { [`k${i}`]: i } }, headers)))
    const { status, body } = await put({}, headers)
    expect([...changes.map((change) => change.status), status]).toEqual(Array(11).fill(200))
    expect(Object.keys(body.user_metadata).sort()).toEqual([...Array.from({ length: 10 }, (_, i) => `k${i}`), 'name'])
  })

  // ASVS 8.2.3, 15.3.3
  it('403: refuses a change of app_metadata by a user who is no admin, or not any more', async () => {
    const { headers } = await createSignedIn(test)
    await expectFailure({ app_metadata: { plan: 'pro' } }, headers, [
      403,
      'not_admin',
      'Updating app_metadata requires admin privileges',
    ])
    const admin = await createSignedIn(test, { role: 'supabase_admin' })
    const { body } = await put({ app_metadata: { plan: 'pro' } }, admin.headers)
    expect(body.app_metadata).toEqual({ plan: 'pro', provider: 'email', providers: ['email'] })
    // The role in the token may be outdated.
    await test.deps.db.updateTable('users').set({ role: 'authenticated' }).where('id', '=', admin.user.id).execute()
    await expectFailure({ app_metadata: { plan: 'max' } }, admin.headers, [
      403,
      'not_admin',
      'Updating app_metadata requires admin privileges',
    ])
  })

  // ASVS 8.2.1
  it('401: refuses a request without an access token', async () => {
    await expectFailure({}, {}, [401, 'no_authorization', 'This endpoint requires a valid Bearer token'])
  })

  // ASVS 8.2.1
  it('403: refuses a token that names no user', async () => {
    await expectFailure({}, OPERATOR, [403, 'bad_jwt', 'invalid claim: missing sub claim'])
  })

  const changeUser = (id: string, values: { banned_until?: Date | 'infinity'; deleted_at?: Date }) =>
    test.deps.db.updateTable('users').set(values).where('id', '=', id).execute()

  // ASVS 7.4.1
  it('403: refuses a banned user', async () => {
    const { headers, user } = await createSignedIn(test)
    for (const banned_until of [new Date(Date.now() + 60_000), 'infinity'] as const) {
      await changeUser(user.id, { banned_until })
      await expectFailure({}, headers, [403, 'user_banned', 'User is banned'])
    }
  })

  // ASVS 7.4.1
  it('403: refuses a session that has ended', async () => {
    const { headers, user } = await createSignedIn(test)
    await test.deps.db.deleteFrom('sessions').where('user_id', '=', user.id).execute()
    const ended = 'Session from session_id claim in JWT does not exist'
    await expectFailure({}, headers, [403, 'session_not_found', ended])
  })

  // ASVS 7.4.1
  it('403: refuses a deleted user, also by a token without a session', async () => {
    const { user } = await createSignedIn(test)
    const sessionless = { authorization: forgeBearer({ sub: user.id }) }
    expect((await put({}, sessionless)).status).toBe(200)
    await changeUser(user.id, { deleted_at: new Date() })
    const gone = 'User from sub claim in JWT does not exist'
    await expectFailure({}, sessionless, [403, 'user_not_found', gone])
  })

  it.each([
    [{ email: 'x' }, 'Unable to validate email address: invalid format'],
    [{ phone: '+0' }, 'Invalid phone number format (E.164 required)'],
    [
      { data: { x: 'y'.repeat(65_536) } },
      'user_metadata and app_metadata together may not be larger than 8192 bytes, because access tokens hold them',
    ],
    [{ email: 'a@b.c', code_challenge: 'x'.repeat(43) }, 'PKCE flow requires code_challenge_method and code_challenge'],
    [{ password: 'x'.repeat(73) }, 'Password cannot be longer than 72 characters'],
  ])('400: refuses %j', async (payload, text) => {
    const { headers } = await createSignedIn(test)
    await expectFailure(payload, headers, [400, 'validation_failed', text])
  })

  it('400: refuses a request without a body', async () => {
    const { headers } = await createSignedIn(test)
    const text = 'Could not parse request body as JSON: the body is empty'
    await expectFailure(undefined, headers, [400, 'bad_json', text])
  })

  it('429: refuses more requests than the limit', async () => {
    const limited = await openBeside(test, { AUTH_RATE_LIMIT_HEADER: 'x-client', AUTH_RATE_LIMIT_OTP: '30' })
    const headers = { 'x-client': 'a' }
    const ask = () => limited.app.inject({ method: 'PUT', url: '/user', headers, payload: {} })
    for (let i = 0; i < 30; i += 1)
      expect(statusAndBody(await ask())).toEqual([
        401,
        errorBody(401, 'no_authorization', 'This endpoint requires a valid Bearer token'),
      ])
    expect(statusAndBody(await ask())).toEqual([
      429,
      errorBody(429, 'over_request_rate_limit', 'Request rate limit reached'),
    ])
    await limited.close()
  })
})

describe('PUT /user with a password', () => {
  // ASVS 6.2.2, 7.4.3
  it('200: ends all other sessions, voids every pending message and notifies the user', async () => {
    const own = await createSignedIn(test)
    const other = await signIn(test, own)
    await test.post('/recover', { email: own.email })
    const { token } = await test.readMail(own.email)
    const { status, body } = await put({ password: 'another horse' }, own.headers)
    expect({ status, email: body.email }).toEqual({ status: 200, email: own.email })
    expect([await refresh(own), await refresh(other)]).toEqual([
      200,
      [
        400,
        grantErrorBody('invalid_grant', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
      ],
    ])
    const recovery = await test.post('/verify', { type: 'recovery', token_hash: token })
    expect(recovery.json()).toEqual(errorBody(403, 'otp_expired', 'Email link is invalid or has expired'))
    const { mail } = await test.readMail(own.email)
    expect(mail.subject).toBe('Your password was changed')
    const login = (password: string) => test.post('/token?grant_type=password', { email: own.email, password })
    expect(statusAndBody(await login(own.password))).toEqual(wrongPassword)
    expectSession(await login('another horse'), signedUpBody(own, { recovery_sent_at: anyTime }))
    expect(await auditOf(own.user.id)).toContain('user_updated_password')
  })

  it('403: lets one of two parallel sessions set its password and ends the other', async () => {
    const own = await createSignedIn(test)
    const other = await signIn(test, own)
    const answers = await Promise.all([
      put({ password: 'first horse' }, own.headers),
      put({ password: 'second horse' }, other.headers),
    ])
    expect(answers.filter(({ status }) => status !== 200)).toEqual([
      { status: 403, body: errorBody(403, 'session_not_found', 'Session from session_id claim in JWT does not exist') },
    ])
  })

  it('401: needs a factor that was added while the password was hashed', async () => {
    const { headers, user } = await createSignedIn(test)
    const { status, body } = await answerBehind(
      test.deps.db,
      async (trx) => {
        await trx.selectFrom('users').select('id').where('id', '=', user.id).forUpdate().execute()
        await trx
          .insertInto('mfa_factors')
          .values(factorRow({ user_id: user.id, factor_type: 'totp', status: 'verified' }))
          .execute()
      },
      () => put({ password: 'another horse' }, headers),
    )
    expect([status, body]).toEqual([
      401,
      errorBody(401, 'insufficient_aal', 'AAL2 session is required to update email or password when MFA is enabled.'),
    ])
  })

  it('400: lets one of two parallel requests with the same current password replace it', async () => {
    const asking = await openBeside(test, { AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true' })
    const { headers, password } = await createSignedIn(asking)
    const answers = await Promise.all(
      ['first horse', 'second horse'].map((next) =>
        asking.app.inject({
          method: 'PUT',
          url: '/user',
          headers,
          payload: { password: next, current_password: password },
        }),
      ),
    )
    expect(refusalsIn(answers)).toEqual([
      [400, errorBody(400, 'current_password_invalid', 'Current password required when setting new password.')],
    ])
    await asking.close()
  })

  // ASVS 6.4.3, 7.5.1, 10.3.4
  it('401: needs the second factor of a user who has one', async () => {
    const { headers, record, user, sessionId, refreshToken } = await createSignedIn(test)
    await test.deps.db
      .insertInto('mfa_factors')
      .values(factorRow({ user_id: user.id, factor_type: 'totp', status: 'verified' }))
      .execute()
    const text = 'AAL2 session is required to update email or password when MFA is enabled.'
    for (const payload of [{ password: 'another horse' }, { email: 'other@example.com' }, { phone: '14155550100' }]) {
      await expectFailure(payload, headers, [401, 'insufficient_aal', text])
    }
    const changed = {
      ...record,
      user_metadata: { name: 'Ann', x: 1 },
      updated_at: anyTime,
      last_sign_in_at: anyTime,
      factors: [factorBody()],
    }
    expect(await put({ data: { x: 1 }, email: user.email }, headers)).toEqual({ status: 200, body: changed })
    await test.deps.db.updateTable('sessions').set({ aal: 'aal2' }).where('id', '=', sessionId).execute()
    // The older token has aal1, although its session has been stepped up since.
    await expectFailure({ password: 'another horse' }, headers, [401, 'insufficient_aal', text])
    const refreshed = await test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })
    const steppedUp = { authorization: `Bearer ${refreshed.json().access_token}` }
    expect(await put({ password: 'another horse' }, steppedUp)).toEqual({ status: 200, body: changed })
    expect(
      outcomeOf(await test.post('/token?grant_type=password', { email: user.email, password: 'another horse' })),
    ).toBe(200)
  })

  it('422: refuses the password of an anonymous user without an address', async () => {
    const { access_token: token } = (await test.post('/signup', {})).json()
    const headers = { authorization: `Bearer ${token}` }
    const text = 'Updating password of an anonymous user without an email or phone is not allowed'
    await expectFailure({ password: 'correct horse' }, headers, [422, 'validation_failed', text])
    const email = 'anonymous@example.com'
    const { status, body } = await put({ email, password: 'correct horse' }, headers)
    expect({ status, body }).toEqual({
      status: 200,
      body: userBody({
        new_email: email,
        email_change_sent_at: anyTime,
        last_sign_in_at: anyTime,
        app_metadata: {},
        is_anonymous: true,
      }),
    })
  })
})
