import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  anyId,
  anyTime,
  confirmedBody,
  emailIdentity,
  errorBody,
  phoneIdentity,
  signedUpBody,
  statusAndBody,
  userBody,
} from '../../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../../test/expect-failure.ts'
import { expectSession } from '../../../test/expect-user.ts'
import { forgeBearer, OPERATOR } from '../../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../../test/mail-app.ts'
import { createSignedUp } from '../../../test/signed-up.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({ AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true', AUTH_EXTERNAL_PHONE_ENABLED: 'true' })
})
afterAll(() => test.close())

const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

async function ask(method: Method, url: string, payload?: object, headers: Record<string, string> = OPERATOR) {
  const answer = await test.app.inject({ method, url, headers, ...(payload ? { payload } : {}) })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}

/** Creates a user and returns the record. */
async function create(payload: object) {
  const { status, body } = await ask('POST', '/admin/users', payload)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

const expectFailure = (method: Method, url: string, payload: object | undefined, failure: Failure) =>
  failWith(test, { method, url, headers: OPERATOR, ...(payload ? { payload } : {}) }, failure)

function signIn(payload: object) {
  return test.app.inject({ method: 'POST', url: '/token?grant_type=password', payload })
}

async function auditOf(userId: string) {
  const { db } = test.deps
  const rows = await db
    .selectFrom('audit_log_entries')
    .select(['actor_id', 'action', 'payload'])
    .where('target_user_id', '=', userId)
    .orderBy('id')
    .execute()
  return rows.map(({ actor_id, action, payload }) => ({ actor_id, action, payload }))
}

let count = 0
const nextEmail = () => `new${++count}@example.com`
const nextPhone = () => `1415555${String(1_000 + ++count)}`

describe('guard of /admin', () => {
  const request = { method: 'GET', url: `/admin/users/${randomUUID()}` } as const

  // ASVS 8.2.1, 8.3.1
  it('401: refuses a request without an access token', async () => {
    const noBearer = 'This endpoint requires a valid Bearer token'
    await failWith(test, request, [401, 'no_authorization', noBearer])
  })

  // ASVS 8.2.1, 8.3.1
  it('403: refuses a malformed token', async () => {
    const prefix = 'invalid JWT: unable to parse or verify signature, '
    const malformed = `${prefix}token is malformed: token contains an invalid number of segments`
    await failWith(test, { ...request, headers: { authorization: 'Bearer x' } }, [403, 'bad_jwt', malformed])
  })

  // ASVS 8.2.1, 8.3.1
  it('403: refuses a token without the role of an admin', async () => {
    for (const claims of [{ role: 'authenticated' }, {}, { role: ['service_role'] }]) {
      const headers = { authorization: forgeBearer(claims) }
      await failWith(test, { ...request, headers }, [403, 'not_admin', 'User not allowed'])
    }
  })

  it('200: accepts a token with any admin role, also without sub, exp, aud and session', async () => {
    const user = await create({ email: nextEmail() })
    for (const role of ['service_role', 'supabase_admin']) {
      const { status, body } = await ask('GET', `/admin/users/${user.id}`, undefined, {
        authorization: forgeBearer({ role }),
      })
      expect([status, body]).toEqual([200, user])
    }
  })

  it('403: refuses a token whose session has ended, or whose user is banned or not an admin anymore', async () => {
    const signedUp = await createSignedUp(test.deps, { role: 'supabase_admin' })
    const { user, email, password } = signedUp
    const token = (await signIn({ email, password })).json().access_token
    const headers = { authorization: `Bearer ${token}` }
    const request = { method: 'GET', url: `/admin/users/${user.id}`, headers } as const
    const read = async () => statusAndBody(await test.app.inject(request))
    const accepted = [200, signedUpBody(signedUp, { role: 'supabase_admin', last_sign_in_at: anyTime })]
    expect(await read()).toEqual(accepted)
    const ban = (until: Date | null) =>
      test.deps.db.updateTable('users').set({ banned_until: until }).where('id', '=', user.id).execute()
    await ban(new Date(Date.now() + 60_000))
    await failWith(test, request, [403, 'user_banned', 'User is banned'])
    await ban(null)
    const ended = [403, 'session_not_found', 'Session from session_id claim in JWT does not exist'] as const
    const end = (changes: { not_after: Date | null }) =>
      test.deps.db.updateTable('sessions').set(changes).where('user_id', '=', user.id).execute()
    await end({ not_after: new Date(Date.now() - 1_000) })
    await failWith(test, request, ended)
    await end({ not_after: null })
    expect(await read()).toEqual(accepted)
    await test.deps.db.deleteFrom('sessions').where('user_id', '=', user.id).execute()
    await failWith(test, request, ended)
    const again = (await signIn({ email, password })).json().access_token
    await test.deps.db.updateTable('users').set({ role: 'authenticated' }).where('id', '=', user.id).execute()
    const demoted = { ...request, headers: { authorization: `Bearer ${again}` } }
    await failWith(test, demoted, [403, 'not_admin', 'User not allowed'])
    const authorization = forgeBearer({ role: 'service_role', session_id: 'x' })
    const text = 'invalid claim: session_id claim must be a UUID'
    await failWith(test, { ...request, headers: { authorization } }, [403, 'bad_jwt', text])
  })
})

describe('POST /admin/users', () => {
  it('200: creates a user with an email and mails an invitation', async () => {
    const email = nextEmail()
    const { status, body, headers } = await ask('POST', '/admin/users', {
      email: email.toUpperCase(),
      password: 'short',
      user_metadata: { full_name: 'Ann', gone: null },
      app_metadata: { plan: 'pro' },
    })
    const at = '2026-01-02T03:04:05.678000+00:00'
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        id: uuid,
        aud: 'authenticated',
        role: 'authenticated',
        email,
        invited_at: at,
        phone: '',
        confirmation_sent_at: at,
        app_metadata: { plan: 'pro', provider: 'email', providers: ['email'] },
        user_metadata: { full_name: 'Ann' },
        identities: [
          {
            identity_id: uuid,
            id: body.id,
            user_id: body.id,
            identity_data: { sub: body.id, email, email_verified: false, phone_verified: false },
            provider: 'email',
            created_at: at,
            updated_at: at,
            email,
          },
        ],
        created_at: at,
        updated_at: at,
        is_anonymous: false,
      },
    })
    expect(headers['cache-control']).toBe('no-store')
    expect((await ask('GET', `/admin/users/${body.id}`)).body).toEqual(body)
    expect(await auditOf(body.id)).toEqual([
      {
        actor_id: null,
        action: 'user_signedup',
        payload: {
          actor_id: '00000000-0000-0000-0000-000000000000',
          actor_username: 'service_role',
          actor_via_sso: false,
          action: 'user_signedup',
          log_type: 'team',
          traits: { user_id: body.id, user_email: email, user_phone: '' },
        },
      },
    ])
    const { mail, token } = await test.readMail(email)
    expect(mail.subject).toBe("You've been invited")
    const verified = await test.post('/verify', { type: 'invite', token_hash: token })
    const record = confirmedBody(body.id, email, {
      invited_at: anyTime,
      confirmation_sent_at: anyTime,
      app_metadata: { plan: 'pro', provider: 'email', providers: ['email'] },
      user_metadata: { full_name: 'Ann' },
    })
    expectSession(verified, record, { type: 'invite' })
    expectSession(await signIn({ email, password: 'short' }), record, {
      weak_password: { message: 'Password should be at least 6 characters.', reasons: ['length'] },
    })
  })

  it('200: sends no invitation to a confirmed email or to a phone', async () => {
    const confirmed = await create({ email: nextEmail(), email_confirm: true, phone: nextPhone(), phone_confirm: true })
    expect(confirmed).toEqual(
      userBody({
        email: expect.any(String),
        email_confirmed_at: anyTime,
        phone: expect.any(String),
        phone_confirmed_at: anyTime,
        confirmed_at: anyTime,
        app_metadata: { provider: 'email', providers: ['email', 'phone'] },
        identities: [
          emailIdentity(anyId, expect.any(String), { email_verified: true }),
          phoneIdentity(anyId, expect.any(String), { phone_verified: true }),
        ],
      }),
    )
    const byPhone = await create({ phone: '+1 415 555 0199' })
    expect(byPhone).toEqual(
      userBody({
        phone: '14155550199',
        app_metadata: { provider: 'phone', providers: ['phone'] },
        identities: [phoneIdentity(anyId, '14155550199')],
      }),
    )
  })

  it('200: sets the role, audience, ban and id of the body', async () => {
    const id = randomUUID()
    const email = nextEmail()
    const body = await create({ id: id.toUpperCase(), email, role: ' editor ', aud: 'elsewhere', ban_duration: '24h' })
    expect(body).toEqual(
      userBody({
        id,
        aud: 'elsewhere',
        role: 'editor',
        email,
        invited_at: anyTime,
        confirmation_sent_at: anyTime,
        identities: [emailIdentity(id, email)],
        banned_until: anyTime,
      }),
    )
    expect(Date.parse(body.banned_until) - Date.now()).toBeGreaterThan(86_000_000)
  })

  it.each([
    [{}, 'Cannot create a user without either an email or phone'],
    [{ email: '', phone: '' }, 'Cannot create a user without either an email or phone'],
    [{ email: 'x' }, 'Unable to validate email address: invalid format'],
    [{ phone: 'x' }, 'Invalid phone number format (E.164 required)'],
    [{ email: 'a@b.c', password: 'x', password_hash: 'y' }, 'Only a password or a password hash should be provided'],
    [{ email: 'a@b.c', password: 'x'.repeat(73) }, 'Password cannot be longer than 72 characters'],
    [{ email: 'a@b.c', role: 'r'.repeat(256) }, 'A role may not be longer than 255 characters'],
    [
      { email: 'a@b.c', password_hash: `$argon2id$v=19$m=65536,t=2,p=1$${'a'.repeat(22)}$${'a'.repeat(210)}` },
      'password_hash may not be longer than 255 characters',
    ],
    [{ email: 'a@b.c', password_hash: 'md5' }, 'password_hash must be an argon2id, argon2i or bcrypt hash'],
    [
      { email: 'a@b.c', password_hash: `$argon2id$v=19$m=99999999,t=2,p=1$${'a'.repeat(22)}$${'a'.repeat(43)}` },
      'password_hash must be an argon2id, argon2i or bcrypt hash',
    ],
    [{ email: 'a@b.c', ban_duration: '1d' }, 'invalid format for ban duration: time: invalid duration "1d"'],
    [{ email: 'a@b.c', aud: 'x'.repeat(256) }, 'An audience may not be longer than 255 characters'],
    [{ email: 'a@b.c', id: 'x' }, 'user_id must be an UUID'],
    [
      { email: 'a@b.c', user_metadata: { x: 'y'.repeat(65_536) } },
      'user_metadata and app_metadata together may not be larger than 8192 bytes, because access tokens hold them',
    ],
  ])('400: refuses %j', async (payload, text) => {
    await expectFailure('POST', '/admin/users', payload, [400, 'validation_failed', text])
  })

  it('400: refuses members of the wrong type', async () => {
    const { status, body } = await ask('POST', '/admin/users', { email: 'a@b.c', email_confirm: 'yes' })
    expect([status, body]).toEqual([
      400,
      errorBody(400, 'bad_json', 'Could not parse request body as JSON: email_confirm: must be a boolean'),
    ])
  })

  it('422: refuses a taken email or phone, also to all but one of many parallel requests', async () => {
    const { email, phone } = await create({ email: nextEmail(), phone: nextPhone() })
    const byEmail = 'A user with this email address has already been registered'
    await expectFailure('POST', '/admin/users', { email }, [422, 'email_exists', byEmail])
    const byPhone = 'Phone number already registered by another user'
    await expectFailure('POST', '/admin/users', { phone }, [422, 'phone_exists', byPhone])
    const wanted = nextEmail()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => ask('POST', '/admin/users', { email: wanted, email_confirm: true })),
    )
    const refused = answers.filter(({ status }) => status !== 200).map(({ body }) => body)
    expect(refused).toEqual(Array(7).fill(errorBody(422, 'email_exists', byEmail)))
  })
})

describe('POST /admin/users/{user_id}', () => {
  it('200: creates the user with that id, whom a second request cannot replace', async () => {
    const id = randomUUID()
    const email = nextEmail()
    const { status, body } = await ask('POST', `/admin/users/${id}`, { id, email, email_confirm: true })
    expect({ status, body }).toEqual({ status: 200, body: confirmedBody(id, email) })
    const again = { email: nextEmail() }
    await expectFailure('POST', `/admin/users/${id}`, again, [409, 'conflict', 'A user with this id already exists'])
  })

  it('400: refuses a malformed id, and a body with another id than the path', async () => {
    const text = 'user_id must be an UUID'
    await expectFailure('POST', '/admin/users/x', { email: 'a@b.c' }, [400, 'validation_failed', text])
    const nil = 'user_id may not be the nil UUID'
    await expectFailure('POST', '/admin/users/00000000-0000-0000-0000-000000000000', { email: 'a@b.c' }, [
      400,
      'validation_failed',
      nil,
    ])
    const other = 'id of the body is another one than that of the path'
    await expectFailure('POST', `/admin/users/${randomUUID()}`, { id: randomUUID(), email: 'a@b.c' }, [
      400,
      'validation_failed',
      other,
    ])
  })
})
