import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../test/auth-app.ts'
import {
  anyId,
  anyTime,
  confirmedBody,
  emailIdentity,
  errorBody,
  grantErrorBody,
  identityBody,
  operatorEntry,
  phoneIdentity,
  signedUpBody,
  statusAndBody,
  userBody,
  wrongPassword,
} from '../../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../../test/expect-failure.ts'
import { expectSession, expectUser } from '../../../test/expect-user.ts'
import { factorRow } from '../../../test/factor-row.ts'
import { OPERATOR } from '../../../test/forged-token.ts'
import { createSignedUp } from '../../../test/signed-up.ts'

let test: TestApp
beforeAll(async () => {
  test = await openTestApp({ settings: { AUTH_EXTERNAL_PHONE_ENABLED: 'true', AUTH_DB_NAMESPACE: 'app' } })
})
afterAll(() => test.close())

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

const TAKEN = {
  status: 422,
  body: errorBody(422, 'email_exists', 'A user with this email address has already been registered'),
}

async function ask(method: Method, userId: string, payload?: object) {
  const url = `/admin/users/${userId}`
  const answer = await test.app.inject({ method, url, headers: OPERATOR, ...(payload ? { payload } : {}) })
  return { status: answer.statusCode, body: answer.json() }
}

const expectFailure = (method: Method, userId: string, payload: object | undefined, failure: Failure) =>
  failWith(test, { method, url: `/admin/users/${userId}`, headers: OPERATOR, ...(payload ? { payload } : {}) }, failure)

const signIn = (payload: object) =>
  test.app.inject({ method: 'POST', url: '/token?grant_type=password', payload: payload })
const refresh = (refresh_token: string) =>
  test.app.inject({ method: 'POST', url: '/token?grant_type=refresh_token', payload: { refresh_token } })

describe('GET /admin/users/{user_id}', () => {
  it('200: finds a user by an id in upper or lower case', async () => {
    const { user, email } = await createSignedUp(test.deps)
    expect(await ask('GET', user.id.toUpperCase())).toEqual({ status: 200, body: signedUpBody({ user, email }) })
  })

  // ASVS 8.4.1
  it('404: hides a user of another audience than the requested one', async () => {
    const { user, email } = await createSignedUp(test.deps, { aud: 'elsewhere' })
    const url = `/admin/users/${user.id}`
    const here = { ...OPERATOR, 'x-jwt-aud': 'authenticated' }
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      const request = { method, url, headers: here, ...(method === 'PUT' ? { payload: {} } : {}) }
      await failWith(test, request, [404, 'user_not_found', 'User not found'])
    }
    const there = { ...OPERATOR, 'x-jwt-aud': 'elsewhere' }
    expectUser(await test.app.inject({ url, headers: there }), signedUpBody({ user, email }, { aud: 'elsewhere' }))
    expect(await ask('GET', user.id)).toEqual({
      status: 200,
      body: signedUpBody({ user, email: user.email }, { aud: 'elsewhere' }),
    })
  })

  it('404: refuses an unknown user, a pending sign-up and a malformed id', async () => {
    await expectFailure('GET', randomUUID(), undefined, [404, 'user_not_found', 'User not found'])
    const { user } = await createSignedUp(test.deps, { staged_at: new Date() })
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      const payload = method === 'PUT' ? {} : undefined
      await expectFailure(method, user.id, payload, [404, 'user_not_found', 'User not found'])
      await expectFailure(method, 'me', payload, [404, 'validation_failed', 'user_id must be an UUID'])
    }
  })
})

describe('PUT /admin/users/{user_id}', () => {
  it('200: merges metadata key by key, and null deletes a key', async () => {
    const { user } = await createSignedUp(test.deps)
    const { status, body } = await ask('PUT', user.id, {
      role: ' editor ',
      user_metadata: { name: null, nick: 'a' },
      app_metadata: { plan: 'pro' },
    })
    expect(status).toBe(200)
    expect(body).toEqual(
      confirmedBody(user.id, user.email, {
        role: 'editor',
        confirmation_sent_at: anyTime,
        app_metadata: { plan: 'pro', provider: 'email', providers: ['email'] },
        user_metadata: { nick: 'a' },
        updated_at: '2026-01-02T03:04:05.678000+00:00',
      }),
    )
    expect(await ask('PUT', user.id, {})).toEqual({ status: 200, body })
    const payload = await test.deps.db
      .selectFrom('audit_log_entries')
      .select('payload')
      .where('target_user_id', '=', user.id)
      .executeTakeFirst()
    expect(payload).toEqual({
      payload: operatorEntry({
        action: 'user_modified',
        traits: { user_id: user.id, user_email: user.email, user_phone: '' },
        log_type: 'user',
      }),
    })
  })

  it('200: replaces email and phone at once, and voids messages to the old addresses', async () => {
    const { user, password } = await createSignedUp(test.deps, { email_change: 'pending@example.com' })
    const token = {
      user_id: user.id,
      kind: 'recovery',
      relates_to: user.email ?? '',
      expires_at: new Date(Date.now() + 60_000),
    }
    await test.deps.db.insertInto('one_time_tokens').values(token).execute()
    const email = `moved-${user.email}`
    const { status, body } = await ask('PUT', user.id, { email: email.toUpperCase(), phone: '+14155550123' })
    // Both addresses are unconfirmed, although the old email was confirmed.
    expect({ status, body }).toEqual({
      status: 200,
      body: userBody({
        id: user.id,
        email,
        phone: '14155550123',
        confirmation_sent_at: anyTime,
        app_metadata: { provider: 'email', providers: ['email', 'phone'] },
        user_metadata: { name: 'Ann' },
        identities: [emailIdentity(user.id, email), phoneIdentity(user.id, '14155550123')],
      }),
    })
    const left = test.deps.db.selectFrom('one_time_tokens').selectAll().where('user_id', '=', user.id)
    expect(await left.execute()).toEqual([])
    expect(statusAndBody(await signIn({ email, password }))).toEqual([
      400,
      grantErrorBody('invalid_grant', 'email_not_confirmed', 'Email not confirmed'),
    ])
    const other = `again-${email}`
    const confirmed = await ask('PUT', user.id, { email: other, email_confirm: true })
    const record = userBody({
      id: user.id,
      email: other,
      email_confirmed_at: anyTime,
      phone: body.phone,
      confirmation_sent_at: anyTime,
      confirmed_at: anyTime,
      app_metadata: { provider: 'email', providers: ['email', 'phone'] },
      user_metadata: { name: 'Ann' },
      identities: [emailIdentity(user.id, other, { email_verified: true }), phoneIdentity(user.id, body.phone)],
    })
    expect(confirmed.body).toEqual(record)
    expectSession(await signIn({ email: other, password }), record)
    expect((await ask('PUT', user.id, { phone_confirm: true })).body).toEqual(
      userBody({
        id: user.id,
        email: other,
        email_confirmed_at: anyTime,
        phone: body.phone,
        phone_confirmed_at: anyTime,
        confirmation_sent_at: anyTime,
        confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        app_metadata: { provider: 'email', providers: ['email', 'phone'] },
        user_metadata: { name: 'Ann' },
        identities: [
          emailIdentity(user.id, other, { email_verified: true }),
          phoneIdentity(user.id, body.phone, { phone_verified: true }),
        ],
      }),
    )
  })

  it('200: makes an anonymous user permanent once the address is confirmed', async () => {
    const anonymous = { id: randomUUID(), aud: 'authenticated', role: 'authenticated', is_anonymous: true }
    const { id } = await test.deps.db.insertInto('users').values(anonymous).returning('id').executeTakeFirstOrThrow()
    const email = 'once-anonymous@example.com'
    expect(await ask('PUT', id, { email })).toEqual({
      status: 200,
      body: userBody({ id, email, identities: [emailIdentity(id, email)], is_anonymous: true }),
    })
    expect(await ask('PUT', id, { email, email_confirm: true })).toEqual({
      status: 200,
      body: confirmedBody(id, email, { email_confirmed_at: anyTime }),
    })
  })

  it('200: setting the current address changes nothing except its confirmation', async () => {
    const { user, email } = await createSignedUp(test.deps, {
      email_confirmed_at: null,
      email_change: 'next@example.com',
    })
    expect(await ask('PUT', user.id, { email })).toEqual({
      status: 200,
      body: userBody({
        id: user.id,
        email,
        confirmation_sent_at: anyTime,
        new_email: 'next@example.com',
        user_metadata: { name: 'Ann' },
        identities: [emailIdentity(user.id, email, { email_verified: true })],
      }),
    })
    expect(await ask('PUT', user.id, { email, email_confirm: true })).toEqual({
      status: 200,
      body: confirmedBody(user.id, email, {
        email_confirmed_at: anyTime,
        confirmation_sent_at: anyTime,
        new_email: 'next@example.com',
        user_metadata: { name: 'Ann' },
      }),
    })
  })

  // ASVS 7.4.5
  it('200: a new role ends every session, so a former admin cannot restore their role', async () => {
    const { user, email, password } = await createSignedUp(test.deps, { role: 'supabase_admin' })
    const session = (await signIn({ email, password })).json()
    const headers = { authorization: `Bearer ${session.access_token}` }
    const change = (role: string, by: { authorization: string } = OPERATOR) =>
      test.app.inject({ method: 'PUT', url: `/admin/users/${user.id}`, headers: by, payload: { role } })
    expectUser(
      await change('supabase_admin', headers),
      signedUpBody({ user, email }, { role: 'supabase_admin', last_sign_in_at: anyTime }),
    )
    expectUser(await change('authenticated'), signedUpBody({ user, email }, { last_sign_in_at: anyTime }))
    const again = await change('supabase_admin', headers)
    expect(statusAndBody(again)).toEqual([
      403,
      errorBody(403, 'session_not_found', 'Session from session_id claim in JWT does not exist'),
    ])
    expect((await refresh(session.refresh_token)).json()).toEqual(
      grantErrorBody('invalid_grant', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    )
    expectSession(await signIn({ email, password }), signedUpBody({ user, email }, { last_sign_in_at: anyTime }))
  })

  // ASVS 7.4.2, 7.4.5
  it('200: a ban applies at once to every endpoint, until it is lifted', async () => {
    const { user, email, password } = await createSignedUp(test.deps)
    const session = (await signIn({ email, password })).json()
    const headers = { authorization: `Bearer ${session.access_token}` }
    expect((await ask('PUT', user.id, { ban_duration: '1h30m' })).body).toEqual(
      signedUpBody({ user, email }, { last_sign_in_at: anyTime, banned_until: anyTime }),
    )
    expect((await signIn({ email, password })).json()).toEqual(
      grantErrorBody('invalid_grant', 'user_banned', 'User is banned'),
    )
    expect((await refresh(session.refresh_token)).json()).toEqual(
      grantErrorBody('invalid_grant', 'user_banned', 'Invalid Refresh Token: User Banned'),
    )
    expect((await test.app.inject({ url: '/user', headers })).json()).toEqual(
      errorBody(403, 'user_banned', 'User is banned'),
    )
    const logout = await test.app.inject({ method: 'POST', url: '/logout', headers })
    expect(logout.json()).toEqual(errorBody(403, 'user_banned', 'User is banned'))
    expect((await ask('PUT', user.id, { ban_duration: 'none' })).body).toEqual(
      signedUpBody({ user, email: user.email }, { last_sign_in_at: anyTime }),
    )
    // The ban only blocked the session and did not end it.
    expectSession(await refresh(session.refresh_token), signedUpBody({ user, email: user.email }))
  })

  it('400: refuses a ban of no duration, and a hash in place of a password', async () => {
    const { user } = await createSignedUp(test.deps)
    const invalid = (text: string) => [400, 'validation_failed', text] as const
    const duration = 'invalid format for ban duration: time: invalid duration "never"'
    await expectFailure('PUT', user.id, { ban_duration: 'never' }, invalid(duration))
    const hash = 'A password hash can only be given when a user is created'
    await expectFailure('PUT', user.id, { password_hash: 'x' }, invalid(hash))
    expect((await ask('GET', user.id)).body).toEqual(signedUpBody({ user, email: user.email }))
  })

  it('422: refuses a weak password', async () => {
    const { user } = await createSignedUp(test.deps)
    await expectFailure('PUT', user.id, { password: 'short' }, [
      422,
      'weak_password',
      'Password should be at least 6 characters.',
      { weak_password: { reasons: ['length'] } },
    ])
  })

  it('422: refuses an address that another user has', async () => {
    const { user } = await createSignedUp(test.deps)
    const { user: other } = await createSignedUp(test.deps, { phone: '14155550124' })
    const byEmail = 'A user with this email address has already been registered'
    await expectFailure('PUT', user.id, { email: other.email }, [422, 'email_exists', byEmail])
    const byPhone = 'Phone number already registered by another user'
    await expectFailure('PUT', user.id, { phone: other.phone }, [422, 'phone_exists', byPhone])
    expect((await ask('GET', user.id)).body).toEqual(signedUpBody({ user, email: user.email }))
  })

  it('422: gives an address to one of many parallel requests', async () => {
    const people = await Promise.all(Array.from({ length: 6 }, () => createSignedUp(test.deps)))
    const wanted = people.map(({ user }) => ask('PUT', user.id, { email: 'wanted@example.com' }))
    const refused = (await Promise.all(wanted)).filter(({ status }) => status !== 200)
    expect(refused).toEqual(Array(5).fill(TAKEN))
  })

  it("422: two users who take each other's address do not deadlock", async () => {
    const [one, two] = [await createSignedUp(test.deps), await createSignedUp(test.deps)]
    const swap = await Promise.all([
      ask('PUT', one.user.id, { email: two.email }),
      ask('PUT', two.user.id, { email: one.email }),
    ])
    expect(swap).toEqual([TAKEN, TAKEN])
  })
})

describe('DELETE /admin/users/{user_id}', () => {
  // ASVS 7.4.2
  it('200: deletes the user and everything that belongs to them', async () => {
    const { user, email, password } = await createSignedUp(test.deps)
    const session = (await signIn({ email, password })).json()
    expect(await ask('DELETE', user.id)).toEqual({ status: 200, body: {} })
    for (const table of ['sessions', 'identities', 'refresh_tokens'] as const) {
      expect(await test.deps.db.selectFrom(table).where('user_id', '=', user.id).selectAll().execute()).toEqual([])
    }
    const headers = { authorization: `Bearer ${session.access_token}` }
    expect((await test.app.inject({ url: '/user', headers })).json()).toEqual(
      errorBody(403, 'user_not_found', 'User from sub claim in JWT does not exist'),
    )
    await expectFailure('DELETE', user.id, undefined, [404, 'user_not_found', 'User not found'])
    const entry = await test.deps.db
      .selectFrom('audit_log_entries')
      .select('payload')
      .where('target_user_id', '=', user.id)
      .where('action', '=', 'user_deleted')
      .executeTakeFirst()
    expect(entry).toEqual({
      payload: operatorEntry({
        action: 'user_deleted',
        traits: { user_id: user.id, user_email: email, user_phone: '' },
        log_type: 'team',
      }),
    })
  })

  it('200: a soft deletion keeps a row without personal data and frees the address', async () => {
    const { user, email, password } = await createSignedUp(test.deps, {
      phone: '14155550125',
      email_change: 'next@example.com',
      phone_change: '14155550126',
    })
    const session = (await signIn({ email, password })).json()
    await test.deps.db
      .insertInto('mfa_factors')
      .values(factorRow({ user_id: user.id, factor_type: 'totp' }))
      .execute()
    const content = { user_id: user.id, kind: 'confirmation', aud: 'authenticated', data: { name: 'Ann' } }
    await test.deps.db.insertInto('sign_up_contents').values(content).execute()
    expect(await ask('DELETE', user.id, { should_soft_delete: true })).toEqual({ status: 200, body: {} })
    const { body } = await ask('GET', user.id)
    const obscured = expect.stringMatching(/^[\w-]{43}$/)
    expect(body).toEqual(
      userBody({
        id: user.id,
        email: obscured,
        email_confirmed_at: anyTime,
        phone: expect.stringMatching(/^[\w-]{15}$/),
        confirmation_sent_at: anyTime,
        confirmed_at: anyTime,
        new_email: obscured,
        new_phone: expect.stringMatching(/^[\w-]{15}$/),
        last_sign_in_at: anyTime,
        app_metadata: {},
        identities: [
          identityBody({
            id: obscured,
            user_id: user.id,
            identity_data: {},
            provider: 'email',
            last_sign_in_at: undefined,
          }),
        ],
        deleted_at: anyTime,
      }),
    )
    const contents = test.deps.db.selectFrom('sign_up_contents').selectAll().where('user_id', '=', user.id)
    expect(await contents.execute()).toEqual([])
    expect(JSON.stringify(body)).not.toContain('@')
    expect(statusAndBody(await signIn({ email, password }))).toEqual(wrongPassword)
    expect(statusAndBody(await refresh(session.refresh_token))).toEqual([
      400,
      grantErrorBody('invalid_grant', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    ])
    const headers = { authorization: `Bearer ${session.access_token}` }
    expect((await test.app.inject({ url: '/user', headers })).json()).toEqual(
      errorBody(403, 'user_not_found', 'User from sub claim in JWT does not exist'),
    )
    // A second deletion changes nothing, and the address is available again.
    expect(await ask('DELETE', user.id, { should_soft_delete: true })).toEqual({ status: 200, body: {} })
    expect((await ask('GET', user.id)).body).toEqual(body)
    await expectFailure('PUT', user.id, {}, [404, 'user_not_found', 'User not found'])
    const again = { email, phone: '14155550125', email_confirm: true }
    const answer = await test.app.inject({ method: 'POST', url: '/admin/users', headers: OPERATOR, payload: again })
    expectUser(
      answer,
      confirmedBody(anyId, email, {
        phone: again.phone,
        app_metadata: { provider: 'email', providers: ['email', 'phone'] },
        identities: [emailIdentity(anyId, email, { email_verified: true }), phoneIdentity(anyId, again.phone)],
      }),
    )
    expect(await ask('DELETE', user.id)).toEqual({ status: 200, body: {} })
  })
})
