import { randomUUID } from 'node:crypto'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { CompatibilityOptions } from '../src/config/compatibility.ts'
import { migrateOptions } from '../src/migrations.ts'
import { openTestApp, type TestApp } from './auth-app.ts'
import { claimsOf } from './authenticator-app.ts'
import { amrEntry, anyId, claimsBody, emailIdentity, errorBody, statusAndBody, userBody } from './bodies.ts'

// Tests SQL of applications for Supabase: seed files that create users with pgcrypto passwords, functions that change users, and
// the queries of the users page in Studio.
const PASSWORD = 'correct horse battery'
/** Matches any time in the format of the profile supabase. */
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/)

let test: TestApp
let owner: pg.Client
let email: string
let people = 0
beforeAll(async () => {
  test = await openTestApp({ settings: { AUTH_PROFILE: 'supabase', AUTH_MAILER_AUTOCONFIRM: 'true' } })
  owner = new pg.Client(test.database.directUrl)
  await owner.connect()
})
afterAll(async () => {
  await owner.end()
  await test.close()
})
beforeEach(() => {
  people += 1
  email = `seed${people}@example.com`
})

/** Inserts a user like the guides, with a password, and with empty or NULL tokens. @returns the id */
async function seed({ password = PASSWORD, confirmed = 'now()', token = `''` } = {}): Promise<string> {
  const { rows } = await owner.query<{ user_id: string }>(
    `WITH person AS (
       INSERT INTO auth.users (
         instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, recovery_sent_at, last_sign_in_at,
         raw_app_meta_data, raw_user_meta_data, created_at, updated_at, confirmation_token, email_change,
         email_change_token_new, recovery_token
       ) VALUES (
         '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated', $1,
         crypt($2, gen_salt('bf')), ${confirmed}, now(), now(),
         '{"provider":"email","providers":["email"]}', '{"full_name":"Ann"}', now(), now(), ${token}, ${token},
         ${token}, ${token}
       ) RETURNING id, email
     )
     INSERT INTO auth.identities (id, user_id, provider_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
     SELECT gen_random_uuid(), id, id, format('{"sub":"%s","email":"%s"}', id, email)::jsonb, 'email', now(), now(), now()
     FROM person RETURNING user_id`,
    [email, password],
  )
  return String(rows[0]?.user_id)
}

const signIn = (password = PASSWORD) => test.post('/token?grant_type=password', { email, password })
/** Compares the stored hash as applications' functions do. */
async function isRight(): Promise<unknown> {
  const compare =
    'SELECT encrypted_password = crypt($2, encrypted_password) AS "isRight" FROM auth.users WHERE email = $1'
  return (await owner.query(compare, [email, PASSWORD])).rows[0]?.isRight
}
const refresh = (token: string) => test.post('/token?grant_type=refresh_token', { refresh_token: token })
const getUser = (token: string) => test.app.inject({ url: '/user', headers: { authorization: `Bearer ${token}` } })

/** Seeds a user and signs them in. */
async function signedIn() {
  const id = await seed()
  const { access_token, refresh_token } = (await signIn()).json()
  return { id, access: String(access_token), refreshToken: String(refresh_token) }
}

describe('a seed file', () => {
  it.each([
    ['empty', `''`],
    ['NULL', 'NULL'],
  ])('200: makes a user who signs in, with %s tokens', async (_what, token) => {
    const id = await seed({ token })
    const answer = await signIn()
    expect([answer.statusCode, answer.json().user.id]).toEqual([200, id])
    const refused = [400, errorBody(400, 'invalid_credentials', 'Invalid login credentials')]
    expect(statusAndBody(await signIn('another password'))).toEqual(refused)
    expect(await isRight()).toBe(true)
  })

  it('200: leaves the hash of a sign-up to crypt()', async () => {
    expect((await test.post('/signup', { email, password: PASSWORD })).statusCode).toBe(200)
    expect(await isRight()).toBe(true)
  })

  it('400: makes a user who has to confirm their email', async () => {
    await seed({ confirmed: 'NULL' })
    expect(statusAndBody(await signIn())).toEqual([400, errorBody(400, 'email_not_confirmed', 'Email not confirmed')])
    await owner.query('UPDATE auth.users SET email_confirmed_at = now() WHERE email = $1', [email])
    expect((await signIn()).statusCode).toBe(200)
  })
})

describe('a change by SQL', () => {
  it('deletes a user, whose tokens are refused', async () => {
    const { id, access, refreshToken } = await signedIn()
    await owner.query('DELETE FROM auth.users WHERE id = $1', [id])
    expect(statusAndBody(await getUser(access))).toEqual([
      403,
      errorBody(403, 'user_not_found', 'User from sub claim in JWT does not exist'),
    ])
    expect(statusAndBody(await refresh(refreshToken))).toEqual([
      400,
      errorBody(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    ])
    expect(statusAndBody(await signIn())).toEqual([
      400,
      errorBody(400, 'invalid_credentials', 'Invalid login credentials'),
    ])
    expect((await owner.query('SELECT FROM auth.identities WHERE user_id = $1', [id])).rowCount).toBe(0)
  })

  it('deletes sessions, whose tokens are refused', async () => {
    const { id, access, refreshToken } = await signedIn()
    await owner.query('DELETE FROM auth.sessions WHERE user_id = $1', [id])
    expect(statusAndBody(await getUser(access))).toEqual([
      403,
      errorBody(403, 'session_not_found', 'Session from session_id claim in JWT does not exist'),
    ])
    expect(statusAndBody(await refresh(refreshToken))).toEqual([
      400,
      errorBody(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    ])
    expect((await signIn()).statusCode).toBe(200)
  })

  it('bans a user, and lifts the ban', async () => {
    const { id, refreshToken } = await signedIn()
    await owner.query(`UPDATE auth.users SET banned_until = now() + interval '1 day' WHERE id = $1`, [id])
    const banned = (text: string) => [400, errorBody(400, 'user_banned', text)]
    expect(statusAndBody(await signIn())).toEqual(banned('User is banned'))
    expect(statusAndBody(await refresh(refreshToken))).toEqual(banned('Invalid Refresh Token: User Banned'))
    await owner.query('UPDATE auth.users SET banned_until = NULL WHERE id = $1', [id])
    expect((await signIn()).statusCode).toBe(200)
  })

  it('changes metadata, role and email, which the next token and GET /user have', async () => {
    const { id, access, refreshToken } = await signedIn()
    const other = `renamed-${email}`
    await owner.query(
      `UPDATE auth.users SET raw_app_meta_data = raw_app_meta_data || '{"plan":"pro"}', role = 'editor', email = $2,
         raw_user_meta_data = jsonb_set(raw_user_meta_data, '{theme}', '"dark"') WHERE id = $1`,
      [id, other],
    )
    const shown = {
      role: 'editor',
      email: other,
      app_metadata: { provider: 'email', providers: ['email'], plan: 'pro' },
      user_metadata: { full_name: 'Ann', theme: 'dark' },
    }
    const sent = { recovery_sent_at: time, last_sign_in_at: time }
    const times = { created_at: time, updated_at: time, email_confirmed_at: time, confirmed_at: time, ...sent }
    const known = { email, created_at: time, updated_at: time, last_sign_in_at: time }
    const identity = { ...emailIdentity(id, email), ...known, identity_data: { sub: id, email } }
    expect(statusAndBody(await getUser(access))).toEqual([
      200,
      userBody({ id, ...shown, ...times, identities: [identity] }),
    ])
    expect(claimsOf((await refresh(refreshToken)).json().access_token)).toEqual(
      claimsBody({ iss: undefined, sub: id, ...shown, amr: [amrEntry('password')] }),
    )
    expect((await test.post('/token?grant_type=password', { email: other, password: PASSWORD })).statusCode).toBe(200)
  })

  it('changes a password, and a function compares it', async () => {
    const { id } = await signedIn()
    const change = `UPDATE auth.users SET encrypted_password = crypt($2, gen_salt('bf', 8)) WHERE id = $1`
    await owner.query(change, [id, 'a later password'])
    expect(statusAndBody(await signIn())).toEqual([
      400,
      errorBody(400, 'invalid_credentials', 'Invalid login credentials'),
    ])
    expect((await signIn('a later password')).statusCode).toBe(200)
  })
})

describe('a trigger of an application that refuses a user', () => {
  beforeAll(() =>
    owner.query(`
      CREATE TABLE public.teams (name text CONSTRAINT teams_open CHECK (name <> 'closed'));
      CREATE FUNCTION public.join_team() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
      BEGIN
        IF NEW.raw_user_meta_data ->> 'raise' IS NOT NULL THEN
          RAISE EXCEPTION 'Not on %', NEW.raw_user_meta_data ->> 'raise'
            USING ERRCODE = NEW.raw_user_meta_data ->> 'code', DETAIL = 'full', HINT = 'wait';
        END IF;
        INSERT INTO public.teams VALUES (NEW.raw_user_meta_data ->> 'team');
        RETURN NEW;
      END $$;
      CREATE TRIGGER join_team AFTER INSERT ON auth.users FOR EACH ROW EXECUTE FUNCTION public.join_team()`),
  )
  afterAll(() => owner.query('DROP FUNCTION public.join_team() CASCADE'))

  const signUp = (data: object, headers = {}, address = email) =>
    test.post('/signup', { email: address, password: PASSWORD, data }, headers)
  const raise = (code: string) => ({ raise: 'Monday', code })
  const UNEXPECTED = 'Unexpected failure, please check server logs for more information'

  it.each([
    ['RAISE', 500, raise('P0001'), { code: 'P0001', message: 'Not on Monday', hint: 'wait', detail: 'full' }],
    ['a status', 418, raise('PT418'), { code: 'PT418', message: 'Not on Monday', hint: 'wait', detail: 'full' }],
    [
      'a constraint',
      500,
      { team: 'closed' },
      {
        code: '23514',
        message: 'new row for relation "teams" violates check constraint "teams_open"',
        detail: 'Failing row contains (closed).',
      },
    ],
  ])('is reported to the client in its own words: %s', async (_what, status, data, body) => {
    const answer = await signUp(data)
    expect(statusAndBody(answer)).toEqual([status, body])
    expect(answer.headers['x-sb-error-code']).toBe('unexpected_failure')
    expect((await owner.query('SELECT FROM auth.users WHERE email = $1', [email])).rowCount).toBe(0)
  })

  it.each([
    [
      'to clients that ask for the newer bodies',
      raise('PT418'),
      { 'x-supabase-api-version': '2024-01-01' },
      { code: 'unexpected_failure', message: UNEXPECTED },
    ],
    [
      'where it is no RAISE and no constraint',
      raise('22012'),
      {},
      errorBody(500, 'unexpected_failure', UNEXPECTED, { error_id: anyId }),
    ],
  ])('500: is not reported in its own words %s', async (_what, data, headers, body) => {
    expect(statusAndBody(await signUp(data, headers))).toEqual([500, body])
  })

  it('fails only its own request', async () => {
    const people = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `${name}-${email}`)
    const answers = await Promise.all(
      people.map((address, index) => signUp(index % 2 === 0 ? { team: 'open' } : raise('P0001'), {}, address)),
    )
    const refused = [500, { code: 'P0001', message: 'Not on Monday', hint: 'wait', detail: 'full' }]
    const outcomes = people.map((address, index) => (index % 2 === 0 ? [200, address] : refused))
    expect(
      answers.map((answer) => (answer.statusCode === 200 ? [200, answer.json().user.email] : statusAndBody(answer))),
    ).toEqual(outcomes)
  })
})

describe('the page of users in Studio', () => {
  const LISTED = `id, email, banned_until, created_at, confirmed_at, confirmation_sent_at, is_anonymous, is_sso_user,
    invited_at, last_sign_in_at, phone, raw_app_meta_data, raw_user_meta_data, updated_at`
  const page = (rest: string) => `
    WITH listed AS (SELECT ${LISTED} FROM auth.users ${rest})
    SELECT listed.*, coalesce((SELECT array_agg(DISTINCT i.provider) FROM auth.identities i WHERE i.user_id = listed.id),
      '{}'::text[]) AS providers FROM listed`

  it('finds, filters, sorts and counts users', async () => {
    const id = await seed()
    await owner.query(`UPDATE auth.users SET phone = $2 WHERE id = $1`, [id, `1555${people}00`])
    const prefix = id.slice(0, 8)
    const moment = expect.any(Date)
    const listed = {
      ...{ id, email, phone: `1555${people}00`, providers: ['email'], is_anonymous: false, is_sso_user: false },
      ...{ created_at: moment, updated_at: moment, confirmed_at: moment, last_sign_in_at: moment },
      ...{ banned_until: null, confirmation_sent_at: null, invited_at: null },
      raw_app_meta_data: { provider: 'email', providers: ['email'] },
      raw_user_meta_data: { full_name: 'Ann' },
    }
    for (const condition of [
      `lower(email) >= '${email}' AND lower(email) < '${email}~' AND instance_id = '00000000-0000-0000-0000-000000000000'
        ORDER BY instance_id, lower(email)`,
      `phone >= '1555${people}' AND phone < '1555${people}~' ORDER BY phone`,
      `id >= '${prefix}-0000-4000-8000-000000000000' AND id < '${prefix}-ffff-4fff-bfff-ffffffffffff' ORDER BY id`,
      `id::text LIKE '%${id}%' OR email LIKE '%${id}%' OR raw_user_meta_data ->> 'full_name' ILIKE '%${id}%'`,
      `email = '${email}' AND (raw_app_meta_data ->> 'providers')::jsonb ?| ARRAY['email']
        AND (email_confirmed_at IS NOT NULL OR phone_confirmed_at IS NOT NULL) ORDER BY last_sign_in_at DESC NULLS LAST`,
      `email = '${email}' AND (SELECT jsonb_agg(CASE WHEN value ~ '^sso' THEN 'sso' ELSE value END)
        FROM jsonb_array_elements_text((raw_app_meta_data ->> 'providers')::jsonb)) ?| ARRAY['email']`,
      `email = '${email}' AND (created_at, id) > ('2020-01-01', '${randomUUID()}'::uuid) ORDER BY created_at, id`,
    ]) {
      const { rows } = await owner.query(page(`WHERE ${condition} LIMIT 50`))
      expect(rows).toEqual([listed])
    }
    const { rows } = await owner.query(`
      SELECT (SELECT reltuples FROM pg_class WHERE oid = 'auth.users'::regclass) >= -1 AS "isEstimated",
        (SELECT count(*)::int FROM auth.users WHERE email = '${email}' AND is_anonymous IS TRUE) AS anonymous`)
    expect(rows).toEqual([{ isEstimated: true, anonymous: 0 }])
  })
})

describe('pgcrypto', () => {
  /** Creates an empty database whose role may create schemas. @returns the options of `migrate` for this role */
  async function empty(prepare = '') {
    const database = await createEmptyDatabase()
    const url = new URL(database.directUrl)
    const name = url.pathname.slice(1)
    const role = `trestle_${name}`
    const admin = new pg.Client(database.directUrl)
    await admin.connect()
    onTestFinished(async () => {
      await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)
      await admin.end()
      await database.drop()
    })
    await admin.query(
      `CREATE ROLE ${role} LOGIN PASSWORD 'secret'; GRANT CREATE ON DATABASE ${name} TO ${role}; ${prepare}`,
    )
    const given = Object.assign(new URL(url), { username: role, password: 'secret' }).href
    const settings = { url: given, migrationUrl: given, namespace: '', schema: 'auth', role: undefined }
    const optionsFor = (compatibility: Pick<CompatibilityOptions, 'makesPgcrypto'>) =>
      migrateOptions({ database: settings, compatibility })
    return { admin, optionsFor, forbid: () => admin.query(`REVOKE CREATE ON DATABASE ${name} FROM ${role}`) }
  }

  it('is left to an administrator where the right is missing, and the statement is printed', async () => {
    const { admin, optionsFor, forbid } = await empty()
    await migrateUp(optionsFor({ makesPgcrypto: false }))
    await forbid()
    const statement = 'CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA public'
    expect(await migrateUp(optionsFor({ makesPgcrypto: true }))).toEqual({
      migrations: [],
      functions: [],
      notes: [
        `pgcrypto is missing (permission denied to create extension "pgcrypto"), so crypt() fails in SQL of applications. As an administrator, run: ${statement}`,
      ],
    })
    await admin.query(statement)
    expect(await migrateUp(optionsFor({ makesPgcrypto: true }))).toEqual({ migrations: [], functions: [] })
  })

  it('is made in the schema extensions where that exists', async () => {
    const { admin, optionsFor } = await empty('CREATE SCHEMA extensions; GRANT ALL ON SCHEMA extensions TO PUBLIC')
    expect((await migrateUp(optionsFor({ makesPgcrypto: true }))).notes).toBeUndefined()
    const { rows } = await admin.query(
      `SELECT extnamespace::regnamespace::text AS schema FROM pg_extension WHERE extname = 'pgcrypto'`,
    )
    expect(rows).toEqual([{ schema: 'extensions' }])
  })
})
