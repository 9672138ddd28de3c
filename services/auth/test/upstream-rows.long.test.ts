import { randomUUID } from 'node:crypto'
import { type Database, openDatabase } from '@trestle/database/connect.ts'
import { createNames } from '@trestle/database/names.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AuthTables } from '../src/database.ts'
import { challengeFactor } from '../src/use-cases/challenge-factor.ts'
import { openTestApp, type TestApp } from './auth-app.ts'
import { addApp, answerChallenge, claimsOf, totpCode } from './authenticator-app.ts'
import {
  amrEntry,
  anyId,
  anyTime,
  claimsBody,
  confirmedBody,
  emailIdentity,
  errorBody,
  grantErrorBody,
  outcomeOf,
  sessionBody,
  statusAndBody,
  userBody,
} from './bodies.ts'
import { factorRow } from './factor-row.ts'
import { OPERATOR } from './forged-token.ts'

// Tests rows that this service did not write: rows of applications' seed files, and of supabase/auth in an adopted database.
const PASSWORD = 'correct horse battery'
/** A hash in the form of `crypt(…, gen_salt('bf'))` of pgcrypto. */
const HASH = '$2a$06$abcdefghijklmnopqrstuu50eFBEC8vQwBnuFXMHE45jBnqvQ8xz.'
const NO_TIME = '0001-01-01T00:00:00.000000+00:00'
const MADE = '2026-01-02T03:04:05.678901+00:00'
const time = expect.stringMatching(/^2026-.*\+00:00$/)

/** A role without rights on other roles' tables. It bypasses their row level security, which adopted tables have. */
const APPLICATION_ROLE = 'service_role'

const clock = { now: () => new Date(), advance: () => {} }

let test: TestApp
let owner: Database<AuthTables>
let people = 0
let id: string
let email: string
beforeAll(async () => {
  const settings = {
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
    AUTH_MFA_WEBAUTHN_VERIFY_ENABLED: 'true',
    AUTH_WEBAUTHN_RP_ID: 'app.example.com',
    AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
    AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com',
    AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
  }
  test = await openTestApp({ settings, replace: () => ({ now: () => new Date() }) })
  const { directUrl: url } = test.database
  const limits = { poolSize: 1, statementTimeoutMs: 5_000, lockTimeoutMs: 5_000 }
  const names = createNames('auth')
  owner = openDatabase({ url, names, applicationName: 'seed', prepared: true, ...limits, onConnectionError: () => {} })
  await sql`GRANT USAGE ON SCHEMA auth TO ${sql.id(APPLICATION_ROLE)}`.execute(owner.db)
  await sql`GRANT INSERT ON auth.users, auth.identities TO ${sql.id(APPLICATION_ROLE)}`.execute(owner.db)
})
afterAll(async () => {
  await owner.close()
  await test.close()
})
beforeEach(() => {
  people += 1
  id = randomUUID()
  email = `user${people}@example.com`
})

type Row = Readonly<Record<string, unknown>>

/** The columns that seed files write: no tokens, but explicit times. */
const seeded = (): Row => ({
  instance_id: '00000000-0000-0000-0000-000000000000',
  id,
  aud: 'authenticated',
  role: 'authenticated',
  email,
  encrypted_password: HASH,
  email_confirmed_at: MADE,
  raw_app_meta_data: '{"provider":"email","providers":["email"]}',
  raw_user_meta_data: '{}',
  created_at: MADE,
  updated_at: MADE,
})

const identityOf = (row: Row): Row => ({
  id: row.id,
  user_id: row.id,
  provider_id: row.id,
  provider: 'email',
  identity_data: JSON.stringify({ sub: row.id, email: row.email }),
  created_at: MADE,
  updated_at: MADE,
})

/** Inserts a row as a role that may only insert. */
async function insert(table: string, row: Row): Promise<void> {
  await owner.db.transaction().execute(async (trx) => {
    await sql`SET LOCAL ROLE ${sql.id(APPLICATION_ROLE)}`.execute(trx)
    const columns = sql.join(Object.keys(row).map((column) => sql.ref(column)))
    await sql`INSERT INTO ${sql.id('auth', table)} (${columns}) VALUES (${sql.join(Object.values(row))})`.execute(trx)
  })
}

async function seed(changes: Row = {}): Promise<Row> {
  const row = { ...seeded(), ...changes }
  await insert('users', row)
  await insert('identities', identityOf(row))
  return row
}

const ask = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object, token?: string) => {
  const headers = token === undefined ? OPERATOR : { authorization: `Bearer ${token}` }
  const answer = await test.app.inject({ method, url, headers, ...(payload && { payload }) })
  return { status: answer.statusCode, body: answer.body === '' ? '' : answer.json() }
}
const signIn = (address: string, password = PASSWORD) =>
  ask('POST', '/token?grant_type=password', { email: address, password })

const shown = (changes: Row = {}) => ({
  id,
  aud: 'authenticated',
  role: 'authenticated',
  email,
  email_confirmed_at: MADE,
  phone: '',
  confirmed_at: MADE,
  last_sign_in_at: time,
  app_metadata: { provider: 'email', providers: ['email'] },
  user_metadata: {},
  identities: [
    {
      identity_id: id,
      id,
      user_id: id,
      identity_data: { sub: id, email },
      provider: 'email',
      created_at: MADE,
      updated_at: MADE,
      email,
    },
  ],
  created_at: MADE,
  updated_at: time,
  is_anonymous: false,
  ...changes,
})

const session = (user: object) => ({
  access_token: expect.any(String),
  token_type: 'bearer',
  expires_in: 3600,
  expires_at: expect.any(Number),
  refresh_token: expect.any(String),
  user,
})

describe('a user of a seed file', () => {
  it('200: signs in, refreshes, is shown, changed, listed and deleted', async () => {
    await seed()
    const { status, body } = await signIn(email)
    expect({ status, body }).toEqual({ status: 200, body: session(shown()) })
    const refresh = { refresh_token: body.refresh_token }
    const refreshed = await ask('POST', '/token?grant_type=refresh_token', refresh)
    expect(refreshed).toEqual({ status: 200, body: session(shown()) })
    expect(await ask('GET', '/user', undefined, body.access_token)).toEqual({ status: 200, body: shown() })
    const named = shown({ user_metadata: { name: 'Ada' } })
    expect(await ask('PUT', '/user', { data: { name: 'Ada' } }, body.access_token)).toEqual({
      status: 200,
      body: named,
    })
    expect(await ask('GET', `/admin/users/${id}`)).toEqual({ status: 200, body: named })
    expect(await ask('GET', `/admin/users?filter=${email}`)).toEqual({
      status: 200,
      body: { users: [named], aud: 'authenticated' },
    })
    expect(await ask('POST', '/logout', undefined, body.access_token)).toEqual({ status: 204, body: '' })
    expect(await ask('DELETE', `/admin/users/${id}`)).toEqual({ status: 200, body: {} })
    expect(await signIn(email)).toEqual({
      status: 400,
      body: grantErrorBody('invalid_grant', 'invalid_credentials', 'Invalid login credentials'),
    })
  })

  it('200: accepts NULL in every nullable column', async () => {
    const nothing = {
      instance_id: null,
      role: null,
      raw_app_meta_data: null,
      raw_user_meta_data: null,
      created_at: null,
      updated_at: null,
      phone_change: null,
      phone_change_token: null,
      email_change_token_current: null,
      email_change_confirm_status: null,
      reauthentication_token: null,
    }
    await seed(nothing)
    const bare = shown({ role: '', app_metadata: {}, created_at: NO_TIME })
    expect(await ask('GET', `/admin/users/${id}`)).toEqual({
      status: 200,
      body: { ...bare, last_sign_in_at: undefined, updated_at: NO_TIME },
    })
    const { body } = await signIn(email)
    expect(body).toEqual(session(bare))
    expect(await ask('GET', `/admin/users?filter=${email}`)).toEqual({
      status: 200,
      body: { users: [bare], aud: 'authenticated' },
    })
    expect((await ask('POST', '/logout?scope=global', undefined, body.access_token)).status).toBe(204)
  })

  it('200: accepts a user without an audience', async () => {
    await seed({ aud: null })
    const bare = shown({ aud: '', last_sign_in_at: undefined, updated_at: MADE })
    expect(await ask('GET', `/admin/users/${id}`)).toEqual({ status: 200, body: bare })
    const listed = await ask('GET', `/admin/users?filter=${email}`)
    expect(listed).toEqual({ status: 200, body: { users: [], aud: 'authenticated' } })
    expect(await signIn(email)).toEqual({
      status: 400,
      body: grantErrorBody('invalid_grant', 'invalid_credentials', 'Invalid login credentials'),
    })
  })

  it('200: accepts an empty text in place of NULL', async () => {
    await seed({ phone: '', email_change: '', phone_change: '', encrypted_password: '' })
    const bare = shown({ last_sign_in_at: undefined, updated_at: MADE })
    expect(await ask('GET', `/admin/users/${id}`)).toEqual({ status: 200, body: bare })
    expect(await signIn(email)).toEqual({
      status: 400,
      body: grantErrorBody('invalid_grant', 'invalid_credentials', 'Invalid login credentials'),
    })
    const { rows } = await sql<{ actor_username: string }>`
      SELECT ${sql.table('audit_payload')}(u, 'login', 'account', NULL) ->> 'actor_username' AS actor_username
      FROM ${sql.table('users')} u WHERE u.id = ${id}`.execute(test.deps.db)
    expect(rows).toEqual([{ actor_username: email }])
  })

  it.each(['[]', '"text"', 'null', '1'])('200: accepts metadata that are not an object: %s', async (metadata) => {
    await seed({ raw_app_meta_data: metadata, raw_user_meta_data: metadata })
    const { status, body } = await signIn(email)
    expect({ status, body }).toEqual({ status: 200, body: session(shown({ app_metadata: {} })) })
    const changed = shown({ app_metadata: {}, user_metadata: { name: 'Ada' } })
    expect(await ask('PUT', '/user', { data: { name: 'Ada' } }, body.access_token)).toEqual({
      status: 200,
      body: changed,
    })
  })
})

describe('an email in mixed case', () => {
  it('200: signs in by the email in any case and returns it as stored', async () => {
    const mixed = `User${people}@Example.com`
    await seed({ email: mixed })
    const user = shown({
      email: mixed,
      identities: [{ ...shown().identities[0], identity_data: { sub: id, email: mixed } }],
    })
    for (const address of [email, mixed, mixed.toUpperCase()]) {
      expect(await signIn(address)).toEqual({ status: 200, body: session(user) })
    }
    const { body } = await signIn(email)
    const claims = JSON.parse(Buffer.from(body.access_token.split('.')[1], 'base64url').toString())
    expect(claims).toEqual(claimsBody({ sub: id, email: mixed, amr: [amrEntry('password')] }))
  })

  it('400: counts as taken for sign-ups', async () => {
    await seed({ email: email.toUpperCase() })
    expect(await ask('POST', '/signup', { email, password: PASSWORD })).toEqual({
      status: 400,
      body: errorBody(400, 'user_already_exists', 'User already registered'),
    })
  })

  it('422: counts as taken for admins', async () => {
    await seed({ email: email.toUpperCase() })
    expect(await ask('POST', '/admin/users', { email })).toEqual({
      status: 422,
      body: errorBody(422, 'email_exists', 'A user with this email address has already been registered'),
    })
  })
})

describe('users of an SSO provider', () => {
  it('200: may share one email, by which no sign-in finds them', async () => {
    await insert('users', { ...seeded(), is_sso_user: true, encrypted_password: null })
    await insert('users', { ...seeded(), id: randomUUID(), is_sso_user: true, email: email.toUpperCase() })
    expect(await signIn(email)).toEqual({
      status: 400,
      body: grantErrorBody('invalid_grant', 'invalid_credentials', 'Invalid login credentials'),
    })
    const signedUp = await ask('POST', '/signup', { email, password: 'another horse battery' })
    expect(signedUp).toEqual({
      status: 200,
      body: sessionBody(confirmedBody(anyId, email), {
        id: anyId,
        aud: 'authenticated',
        role: 'authenticated',
        email,
        email_confirmed_at: anyTime,
        phone: '',
        confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        app_metadata: { provider: 'email', providers: ['email'] },
        user_metadata: {},
        identities: [emailIdentity(anyId, email, { email_verified: true })],
        created_at: anyTime,
        updated_at: anyTime,
        is_anonymous: false,
      }),
    })
    expect(await signIn(email, 'another horse battery')).toEqual({
      status: 200,
      body: sessionBody(
        userBody({
          id: signedUp.body.user.id,
          email,
          email_confirmed_at: anyTime,
          confirmed_at: anyTime,
          identities: [emailIdentity(signedUp.body.id, email, { email_verified: true })],
        }),
      ),
    })
  })
})

describe('an identity of supabase/auth', () => {
  it.each([
    ['without times', { created_at: null, updated_at: null }, { created_at: NO_TIME, updated_at: NO_TIME }],
    ['with data that is no object', { identity_data: '[]' }, { identity_data: {}, email: undefined }],
  ])('200: is returned %s', async (_title, columns, changes) => {
    await insert('users', seeded())
    await insert('identities', { ...identityOf(seeded()), ...columns })
    const { status, body } = await signIn(email)
    const identities = [{ ...shown().identities[0], ...changes }]
    expect({ status, body }).toEqual({ status: 200, body: session(shown({ identities })) })
    expect(await ask('GET', `/admin/users/${id}`)).toEqual({ status: 200, body: shown({ identities }) })
  })
})

describe('a session of supabase/auth', () => {
  it('200: is refreshed without a level and times, and can be stepped up', async () => {
    await seed()
    const { body } = await signIn(email)
    const bare = sql`aal = NULL, created_at = NULL, updated_at = NULL, refreshed_at = NULL`
    await sql`UPDATE ${sql.table('sessions')} SET ${bare} WHERE user_id = ${id}`.execute(test.deps.db)
    const refreshed = await ask('POST', '/token?grant_type=refresh_token', { refresh_token: body.refresh_token })
    expect(refreshed).toEqual({ status: 200, body: session(shown()) })
    const claims = JSON.parse(Buffer.from(refreshed.body.access_token.split('.')[1], 'base64url').toString())
    expect(claims).toEqual(claimsBody({ sub: id, email, amr: [amrEntry('password')] }))
    expect((await ask('PUT', '/user', { data: {} }, refreshed.body.access_token)).status).toBe(200)
    const { rows } = await sql<Row>`
      SELECT refreshed_at AT TIME ZONE 'UTC' = updated_at AS "isUtc", aal FROM ${sql.table('sessions')}
      WHERE user_id = ${id}`.execute(test.deps.db)
    expect(rows).toEqual([{ isUtc: true, aal: null }])
  })
})

describe('second factors beside those of supabase/auth', () => {
  const bearerOf = async () => ({ authorization: `Bearer ${(await signIn(email)).body.access_token}` })

  it('200: enrols an authenticator app for a user of a seed file', async () => {
    await seed()
    const { headers } = await addApp({ ...test, clock }, await bearerOf())
    const answer = await test.app.inject({ url: '/user', headers })
    expect(answer.json().factors).toEqual([
      {
        id: expect.any(String),
        created_at: time,
        updated_at: time,
        status: 'verified',
        factor_type: 'totp',
        phone: '',
        last_challenged_at: time,
      },
    ])
    const { rows } = await sql<Row>`
      SELECT secret, web_authn_credential FROM ${sql.table('mfa_factors')} WHERE user_id = ${id}`.execute(test.deps.db)
    expect(rows).toEqual([{ secret: null, web_authn_credential: null }])
  })

  it.each([
    [200, 'takes the code of a secret that nobody has encrypted', 'JBSWY3DPEHPK3PXP'],
    [422, 'refuses a secret that supabase/auth has encrypted', '{"key_id":"1"}'],
    [422, 'refuses an empty secret', ''],
  ])('%i: a stored authenticator app %s', async (status, _title, secret) => {
    await seed()
    const factor = factorRow({ user_id: id, status: 'verified', phone: '', friendly_name: null })
    await owner.db.insertInto('mfa_factors').values(factor).execute()
    await sql`UPDATE ${sql.table('mfa_factors')} SET secret = ${secret} WHERE id = ${factor.id}`.execute(owner.db)
    const code = totpCode('JBSWY3DPEHPK3PXP', new Date())
    const answer = await answerChallenge(test, await bearerOf(), { factorId: factor.id, code })
    const refused = [422, errorBody(422, 'mfa_verification_failed', 'Invalid TOTP code entered')]
    expect(outcomeOf(answer)).toEqual(status === 200 ? 200 : refused)
  })

  it('404: refuses to replace a credential of supabase/auth', async () => {
    await seed()
    const factor = factorRow({ user_id: id, factor_type: 'webauthn', status: 'verified' })
    await owner.db.insertInto('mfa_factors').values(factor).execute()
    const url = `/factors/${factor.id}/challenge`
    const answer = await test.app.inject({ method: 'POST', url, headers: await bearerOf() })
    expect(statusAndBody(answer)).toEqual([404, errorBody(404, 'mfa_factor_not_found', 'Factor not found')])
  })

  it('200: challenges three factors at one moment', async () => {
    await seed()
    const factors = ['a', 'b', 'c'].map((friendly_name) => factorRow({ user_id: id, friendly_name }))
    await owner.db.insertInto('mfa_factors').values(factors).execute()
    const sessionId = String(claimsOf((await bearerOf()).authorization).session_id)
    const frozen = { ...test.deps, now: () => new Date('2026-03-04T05:06:07.089Z') }
    const caller = { userId: id, sessionId, aal: 'aal1', audiences: ['authenticated'], isAdmin: false } as const
    const asked = { caller, channel: 'sms', ip: '', limitKey: undefined } as const
    await Promise.all(factors.map((factor) => challengeFactor(frozen, { ...asked, factorId: factor.id })))
    const query = owner.db.selectFrom('mfa_factors').select(sql<string>`last_challenged_at::text`.as('at'))
    const moments = (await query.where('user_id', '=', id).execute()).map(({ at }) => at)
    expect(new Set(moments).size).toBe(3)
    for (const at of moments) expect(at).toMatch(/^2026-03-04 05:06:07\.089/)
  })

  it('422: refuses a phone that another factor of the user has', async () => {
    await seed()
    const factor = factorRow({ user_id: id, phone: '14155550100' })
    await owner.db.insertInto('mfa_factors').values(factor).execute()
    const payload = { factor_type: 'phone', phone: '+14155550100', friendly_name: 'x' }
    const answer = await test.app.inject({ method: 'POST', url: '/factors', headers: await bearerOf(), payload })
    expect(statusAndBody(answer)).toEqual([
      422,
      errorBody(
        422,
        'mfa_verified_factor_exists',
        'A verified phone factor already exists, unenroll the existing factor to continue',
      ),
    ])
  })
})

describe('a new user', () => {
  it('has the values of supabase/auth in columns that the service does not read', async () => {
    const blank = {
      instance_id: '00000000-0000-0000-0000-000000000000',
      confirmation_token: '',
      recovery_token: '',
      email_change_token_new: '',
      email_change_token_current: '',
      email_change: '',
      phone_change: '',
      phone_change_token: '',
      reauthentication_token: '',
      email_change_confirm_status: 0,
      is_super_admin: null,
    }
    const signedUp = await ask('POST', '/signup', { email, password: PASSWORD })
    const anonymous = await ask('POST', '/signup', {})
    const byAdmin = await ask('POST', '/admin/users', { email: `admin-${email}`, email_confirm: true })
    const ids = [signedUp.body.user.id, anonymous.body.user.id, byAdmin.body.id]
    const { rows } = await sql<Row>`
      SELECT ${sql.join(Object.keys(blank).map((column) => sql.ref(column)))} FROM ${sql.table('users')}
      WHERE id IN (${sql.join(ids)})`.execute(test.deps.db)
    expect(rows).toEqual([blank, blank, blank])
  })
})
